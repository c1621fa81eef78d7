"""A setting in which an optimizer of another package is compared with a rule."""

from dataclasses import dataclass, field

TOLERANCE = 1e-10  # of a parameter, at its scale, over all steps
F32 = 1e-7

MATRICES = [(4, 7), (5, 5), (7, 3)]
SHAPES = [*MATRICES, (6,)]


@dataclass
class Case:
    theirs: str
    their_options: dict
    rule: str
    options: dict
    reason: str = ""  # of a larger tolerance, or the difference between the formulas
    tolerance: float = TOLERANCE
    shapes: list = field(default_factory=lambda: SHAPES)
    keys: dict = field(default_factory=dict)  # entries of the package's parameter group
    lr_drops: bool = True
    scale_of_gradients: float = 1.0

    def __str__(self):
        options = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.theirs}-{self.rule}({options})"


def both(theirs, their_options, rule, options, common=(), **rest):
    """Returns a case whose options in `common` have one name and value on both sides."""
    common = dict(common)
    return Case(theirs, common | their_options, rule, common | options, **rest)


def betas_of(betas):
    """Returns the options for betas on both sides: a tuple, and a number each."""
    return {"betas": betas}, {f"beta{place}": beta for place, beta in enumerate(betas, 1)}


B, OUR_B = betas_of((0.8, 0.9))
B3, OUR_B3 = betas_of((0.8, 0.7, 0.9))
SLOW, OUR_SLOW = betas_of((0.8, 0.9, 0.99))
LR = {"lr": 0.05}
DECAY = {"lr": 0.05, "weight_decay": 0.1}
EPS = {"eps": 1e-14}  # so small that it does not matter where it is added
