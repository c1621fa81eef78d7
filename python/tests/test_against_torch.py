"""The rules that PyTorch also has, against its optimizers, in f32 on the CPU.

In `ieee` numerics every operation of a rule rounds once; torch contracts some, and its square root
may be off by one place. The difference stays within 2 units in the last place per step, at the
scale of the parameter: the largest magnitude that its elements have had.
"""

import inspect
import math
from dataclasses import dataclass, field

import numpy
import pytest
import torch

import updraft

from .conftest import RULES
from .stepping import Closeness, random_params, twenty_steps
from .torch_training import OLDER

MAX_ULP_PER_STEP = 2

# Options that are tuples in torch.
TUPLES = {
    "betas": ("beta1", "beta2"),
    "eps": ("eps1", "eps2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


@dataclass
class Case:
    """An optimizer of torch, its options, and the equivalent rule."""

    optimizer: type
    rule: str
    options: dict = field(default_factory=dict)

    @property
    def settings(self):
        """The options with the rule's names, without tuples."""
        settings = dict(self.options)
        for name, parts in TUPLES.items():
            if isinstance(settings.get(name), tuple):
                settings.update(zip(parts, settings.pop(name), strict=True))
        return settings

    def __str__(self):
        options = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.optimizer.__name__}({options})"

    def create(self, params):
        """Creates torch's optimizer, in its for-loop implementation."""
        known = inspect.signature(self.optimizer).parameters
        loop = {name: False for name in ("foreach", "fused") if name in known}
        return self.optimizer(params, **loop, **self.options)


def cases(optimizer, rule, *options):
    """One case per set of options, each also with `maximize`."""
    return [
        Case(optimizer, rule, chosen | more)
        for chosen in options
        for more in ({}, {"maximize": True})
    ]


EPSILON = float(numpy.finfo("float32").eps)

CASES = [
    *cases(
        torch.optim.SGD,
        "sgd",
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.05},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.5},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.05},
    ),
    *cases(
        torch.optim.Adam,
        "adam",
        {},
        {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-6},
        {"amsgrad": True},
        {"weight_decay": 0.05},
        {"weight_decay": 0.05, "amsgrad": True},
        {"weight_decay": 0.05, "decoupled_weight_decay": True},
    ),
    *cases(
        torch.optim.AdamW,
        "adamw",
        {},
        {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-6},
        {"amsgrad": True},
        {"weight_decay": 0},
        {"weight_decay": 0.1, "amsgrad": True},
    ),
    *cases(
        torch.optim.RMSprop,
        "rmsprop",
        {},
        {"alpha": 0.9, "eps": 1e-6, "weight_decay": 0.05},
        {"momentum": 0.9},
        {"centered": True},
        {"centered": True, "momentum": 0.9, "weight_decay": 0.05},
    ),
    *cases(
        torch.optim.Adagrad,
        "adagrad",
        {},
        {"lr": 0.1, "lr_decay": 0.1},
        {"initial_accumulator_value": 0.5, "eps": 1e-6},
        {"weight_decay": 0.05, "lr_decay": 0.01},
    ),
    *cases(
        torch.optim.Adamax,
        "adamax",
        {},
        {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-6},
        {"weight_decay": 0.05},
    ),
    *cases(
        torch.optim.Adadelta,
        "adadelta",
        {},
        {"lr": 0.5, "rho": 0.8, "eps": 1e-4},
        {"weight_decay": 0.05},
    ),
    *cases(
        torch.optim.RAdam,
        "radam",
        {},
        {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-6},
        {"betas": (0.9, 0.5)},
        {"weight_decay": 0.05},
        {"weight_decay": 0.05, "decoupled_weight_decay": True},
    ),
    *cases(
        torch.optim.NAdam,
        "nadam",
        {},
        {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-6, "momentum_decay": 0.1},
        {"weight_decay": 0.05},
        {"lr": 0.05, "weight_decay": 0.05, "decoupled_weight_decay": True},
    ),
    *cases(
        torch.optim.ASGD,
        "asgd",
        {},
        {"lr": 0.1, "lambd": 0.01, "alpha": 0.5, "t0": 5},
        {"weight_decay": 0.05},
    ),
    *cases(
        torch.optim.Adafactor,
        "adafactor",
        {"eps": (EPSILON, 1e-3)},
        {"eps": (EPSILON, 1e-3), "weight_decay": 0.05, "lr": 0.5},
        {"eps": (1e-3, 0.1), "d": 2.0, "beta2_decay": -0.5},
    ),
    *cases(
        torch.optim.Rprop,
        "rprop",
        {},
        {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (1e-3, 0.2)},
    ),
]


def compile_case(case):
    """Compiles the rule; the options are its flags and the defaults of its hyperparameters."""
    return updraft.compile_file(RULES / f"{case.rule}.upd", defaults=case.settings)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_twenty_steps_agree(case):
    generator = torch.Generator().manual_seed(20)
    theirs, ours = random_params(generator, torch.float32)
    reference = case.create(theirs)
    optimizer = updraft.ArrayOptimizer(compile_case(case), ours)
    closeness = Closeness(theirs, ours)
    for step in twenty_steps(reference, optimizer, generator):
        closeness.check(step, MAX_ULP_PER_STEP)
    assert closeness.all_moved()


REFUSED = [
    (torch.optim.SGD, "sgd", {"lr": -1.0}),
    (torch.optim.SGD, "sgd", {"momentum": -0.5}),
    (torch.optim.SGD, "sgd", {"weight_decay": -1e-05}),
    (torch.optim.Adam, "adam", {"lr": -0.001}),
    (torch.optim.Adam, "adam", {"eps": -1e-08}),
    (torch.optim.Adam, "adam", {"betas": (1.0, 0.999)}),
    (torch.optim.Adam, "adam", {"betas": (0.9, 1.5)}),
    (torch.optim.Adam, "adam", {"weight_decay": -1.0}),
    (torch.optim.AdamW, "adamw", {"betas": (-0.1, 0.999)}),
    (torch.optim.AdamW, "adamw", {"eps": -math.inf}),
    (torch.optim.RMSprop, "rmsprop", {"lr": -1.0}),
    (torch.optim.RMSprop, "rmsprop", {"eps": -1.0}),
    (torch.optim.RMSprop, "rmsprop", {"alpha": -0.1}),
    (torch.optim.RMSprop, "rmsprop", {"weight_decay": -2.0}),
    (torch.optim.Adagrad, "adagrad", {"lr": -1.0}),
    (torch.optim.Adagrad, "adagrad", {"lr_decay": -1.0}),
    (torch.optim.Adagrad, "adagrad", {"eps": -1.0}),
    (torch.optim.Adagrad, "adagrad", {"weight_decay": -1.0}),
    (torch.optim.Adagrad, "adagrad", {"initial_accumulator_value": -1.0}),
    (torch.optim.Adamax, "adamax", {"betas": (0.9, 1.0)}),
    (torch.optim.Adadelta, "adadelta", {"rho": 1.5}),
    (torch.optim.Adadelta, "adadelta", {"eps": -1.0}),
    (torch.optim.RAdam, "radam", {"betas": (1.0, 0.999)}),
    (torch.optim.NAdam, "nadam", {"momentum_decay": -1.0}),
    (torch.optim.ASGD, "asgd", {"lambd": -1.0}),
    (torch.optim.ASGD, "asgd", {"alpha": -0.5}),
    (torch.optim.Adafactor, "adafactor", {"lr": -1.0}),
    (torch.optim.Adafactor, "adafactor", {"beta2_decay": 0.5}),
    (torch.optim.Adafactor, "adafactor", {"eps": (-1.0, 1e-3)}),
    (torch.optim.Adafactor, "adafactor", {"eps": (1.0, -1e-3)}),
    (torch.optim.Adafactor, "adafactor", {"d": 0.5}),
    (torch.optim.Adafactor, "adafactor", {"weight_decay": -1.0}),
    (torch.optim.Rprop, "rprop", {"lr": -1.0}),
    (torch.optim.Rprop, "rprop", {"etas": (0.5, 0.9)}),
]


@pytest.mark.parametrize("case", [Case(*refused) for refused in REFUSED], ids=str)
def test_messages_are_those_of_torch(case):
    if case.optimizer is torch.optim.ASGD and OLDER:
        pytest.skip("this torch refuses no arguments of ASGD")
    with pytest.raises(ValueError) as theirs:
        case.create([torch.nn.Parameter(torch.zeros(1))])
    rule = updraft.compile_file(RULES / f"{case.rule}.upd")
    with pytest.raises(updraft.InvalidArgumentError) as ours:
        updraft.ArrayOptimizer(rule, [numpy.zeros(1, dtype="float32")], **case.settings)
    assert str(theirs.value) in str(ours.value)


@pytest.mark.parametrize(
    "case", {case.rule: Case(case.optimizer, case.rule) for case in CASES}.values(), ids=str
)
def test_defaults_are_those_of_torch(case):
    theirs = dict(case.create([torch.nn.Parameter(torch.zeros(1))]).defaults)
    if theirs.get("eps") == (None, 1e-3):  # None is the epsilon of the parameter's type
        theirs["eps"] = (EPSILON, 1e-3)
    expected = Case(case.optimizer, case.rule, theirs).settings
    for name, default in updraft.compile_file(RULES / f"{case.rule}.upd").hypers.items():
        assert default == expected[name], name
