"""The trainings of the convergence demo: every rule with settings for the digits network.

The settings are those of the rule. Its counterpart, PyTorch's optimizer or the transcription of the
paper in `python/published`, gets the same.
"""

import dataclasses
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import published

# Options that are tuples in torch.
TUPLES = {
    "betas": ("beta1", "beta2"),
    "eps": ("eps1", "eps2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}


@dataclasses.dataclass(frozen=True)
class Work:
    """A training: a rule with settings, and with types of its states."""

    rule: str
    settings: dict = dataclasses.field(default_factory=dict)
    storage: dict = dataclasses.field(default_factory=dict)
    label: str = ""

    @property
    def name(self):
        return f"{self.rule} {self.label}".rstrip()

    def counterpart(self, params):
        """Creates the optimizer to compare with."""
        if self.rule in published.OPTIMIZERS:
            return published.OPTIMIZERS[self.rule](params, **self.settings)
        if self.rule == "sparse_adam":
            return SparseAdam(params, **self.settings)
        optimizer = next(
            member
            for name, member in vars(torch.optim).items()
            if name.lower() == self.rule and isinstance(member, type)
        )
        settings = dict(self.settings)
        for name, parts in TUPLES.items():
            if settings.keys() >= set(parts):
                settings[name] = tuple(settings.pop(part) for part in parts)
        return optimizer(params, **settings)


class SparseAdam(torch.optim.SparseAdam):
    """PyTorch's SparseAdam needs sparse gradients, so these contain every row."""

    def step(self):
        params = self.param_groups[0]["params"]
        dense = [param.grad for param in params]
        for param in params:
            rows, values = torch.arange(len(param))[None], param.grad
            param.grad = torch.sparse_coo_tensor(rows, values, param.shape, check_invariants=True)
        super().step()
        for param, grad in zip(params, dense, strict=True):
            param.grad = grad


def bf16_state_works(rule, settings):
    for state in ("bf16", "bf16_stochastic"):
        yield Work(rule, settings, {"state": state}, f"with {state} states")


def narrow_works(rule, settings):
    """The rule with states of 8 bits, and with parameters and gradients of bf16."""
    for codes in ("q8_linear", "q8_companded"):
        yield Work(rule, settings, {"state": codes}, f"with {codes} states")
    if rule != "lion":
        for param in ("bf16_stochastic", "bf16_corrected"):
            storage = {"param": param, "grad": "bf16", "state": "f32"}
            yield Work(rule, settings, storage, f"with {param} parameters")


WORKS = [
    Work("sgd", {"lr": 0.05, "momentum": 0.9}),
    *narrow_works("sgd", {"lr": 0.05, "momentum": 0.9}),
    Work("adam", {"lr": 1e-3}),
    Work("adamw", {"lr": 1e-3}),
    *bf16_state_works("adamw", {"lr": 1e-3}),
    *narrow_works("adamw", {"lr": 1e-3}),
    Work("rmsprop", {"lr": 1e-3}),
    Work("adagrad", {"lr": 1e-2}),
    Work("sparse_adam", {"lr": 1e-3}),
    Work("rowwise_adagrad", {"lr": 1e-2}),
    Work("adamax", {"lr": 2e-3}),
    Work("adadelta", {"lr": 1.0}),
    Work("radam", {"lr": 2e-3}),
    # Designed for full batches: with small batches its steps must not grow much.
    Work(
        "rprop",
        {
            "lr": 1e-4,
            "etaminus": 0.5,
            "etaplus": 1.2,
            "step_size_min": 1e-6,
            "step_size_max": 1e-3,
        },
    ),
    Work("nadam", {"lr": 2e-3}),
    # Starts averaging after a quarter of the steps.
    Work("asgd", {"lr": 0.2, "t0": 170}),
    Work("adafactor", {"lr": 1e-2}),
    Work("qhm", {"lr": 0.3, "momentum": 0.95}),
    Work("lion", {"lr": 3e-4}),
    *narrow_works("lion", {"lr": 3e-4}),
    Work("adabelief", {"lr": 1e-3}),
    Work("yogi", {"lr": 1e-2}),
    Work("signum", {"lr": 3e-4}),
    Work("qhadam", {"lr": 1e-3}),
    Work("adan", {"lr": 1e-3}),
    Work("ademamix", {"lr": 1e-3, "beta3": 0.99}),
    Work("mars", {"lr": 3e-3}),
    Work("lamb", {"lr": 2e-3}),
    Work("lars", {"lr": 1.0, "trust_coefficient": 2e-3}),
    Work("novograd", {"lr": 1e-2}),
    Work("schedule_free_sgd", {"lr": 0.5}),
    Work("schedule_free_adamw", {"lr": 2.5e-3}),
    Work("prodigy"),
    Work("stable_adamw", {"lr": 1e-3}),
    Work("adopt", {"lr": 1e-3}),
    Work("laprop", {"lr": 1e-3}),
    Work("grams", {"lr": 1e-3}),
    Work("adamc", {"lr": 1e-3}),
    Work("gpa_adamw", {"lr": 2e-3, "eval_interp_coeff": 0.98}),
    # With the default of 0.1, the first step would forget the initial weights.
    Work("ftrl", {"lr": 1e-2, "initial_accumulator_value": 0}),
    Work("came", {"lr": 1e-3}),
    Work("adam_mini", {"lr": 1e-3}),
    Work("muon", {"lr": 5e-3}),
    # Nothing records logits, so these are the steps of muon.
    Work("muonclip", {"lr": 5e-3}),
    Work("normuon", {"lr": 5e-3}),
    Work("adamuon", {"lr": 2e-3}),
    Work("scion", {"lr": 5e-3, "momentum": 0.1, "scale": 5}),
    Work("polargrad", {"lr": 5e-2}),
    # Four times the rate of muon: a step changes a quarter of the rows.
    Work("dion2", {"lr": 2e-2}),
    Work("soap", {"lr": 3e-3}),
    Work("shampoo", {"lr": 1e-3}),
    Work("kl_shampoo", {"lr": 3e-3}),
    Work("psgd_pro", {"lr": 2e-2}),
    Work("sophia", {"lr": 1e-3, "weight_decay": 0.01}),
]
