"""The rules that PyTorch lacks, against transcriptions of their papers (`python/published`).

Both run in double, where they agree up to the rounding of a different order of operations. This
checks that a rule is the published algorithm. Other tests check its rounding in f32.
"""

import pathlib
from dataclasses import dataclass, field

import pytest
import torch
from published import OPTIMIZERS

import updraft

from . import test_second_order
from .conftest import RULES
from .stepping import Closeness, random_params, twenty_steps

TOLERANCE = 1e-12  # per step, at the scale of the parameter
DOUBLE = {"param": "f64", "grad": "f64", "state": "f64"}


@dataclass
class Case:
    rule: str
    options: dict = field(default_factory=dict)

    def __str__(self):
        options = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.rule}({options})"


OPTIONS = {
    "adabelief": [
        {},
        {"lr": 0.05, "beta1": 0.8, "beta2": 0.99, "eps": 1e-6},
        {"weight_decay": 0.1, "amsgrad": True},
    ],
    "adam_mini": [
        {},
        {"weight_decay": 0.1, "lr": 0.01},
        {"block": "batch", "weight_decay": 0.1},
        {"block": "tensor", "beta2": 0.9},
    ],
    "adamc": [
        {},
        {"lr": 0.05, "max_lr": 0.1, "weight_decay": 0.1},
        {"lr": 0.05, "max_lr": 0.1, "weight_decay": 0.1, "normalized": False},
    ],
    "adamuon": [
        {},
        {"nesterov": False, "momentum": 0.9, "ns_steps": 2, "weight_decay": 0.1},
        {"sign_stabilized": False, "ns_set": "aol"},
        {"ns_set": "polar_express", "eps": 0.01},
    ],
    "adan": [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "no_prox": True, "beta2": 0.7}],
    "ademamix": [
        {},
        {"alpha_warmup": 8, "beta3_warmup": 12, "weight_decay": 0.1},
        {"alpha": 5.0, "beta3": 0.99},
    ],
    "adopt": [
        {},
        {"lr": 0.05, "beta1": 0.8, "beta2": 0.9, "eps": 0.5},
        {"weight_decay": 0.1, "clipped": False},
        {"weight_decay": 0.1, "decoupled_weight_decay": True, "lr": 0.1},
    ],
    "came": [{}, {"lr": 0.01, "weight_decay": 0.1}, {"clip_threshold": 0.5, "beta3": 0.9}],
    "ftrl": [
        {},
        {"lr": 0.1, "l1": 3.0, "l2": 0.1, "beta": 1.0},
        {"lr": 0.1, "lr_power": -0.7, "initial_accumulator_value": 0.0, "l1": 0.1},
        {"lr_power": 0.0, "beta": 0.5},
    ],
    "gpa_adamw": [
        {},
        {"lr": 0.01, "eval_interp_coeff": 0.9, "weight_decay": 0.1},
        {"lr": 0.01, "train_interp_coeff": 0.9, "weight_decay": 0.1, "use_wd_on_y": True},
    ],
    "grams": [{}, {"lr": 0.05, "weight_decay": 0.1}, {"bias_correction": False, "beta2": 0.9}],
    "laprop": [
        {},
        {"lr": 0.05, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3},
        {"weight_decay": 0.01, "amsgrad": True},
    ],
    "lion": [{}, {"lr": 0.01, "beta1": 0.8, "beta2": 0.95}, {"weight_decay": 0.1}],
    "lamb": [{}, {"lr": 0.05, "weight_decay": 0.1}],
    "lars": [{}, {"lr": 1.0, "trust_coefficient": 0.02, "weight_decay": 0.0}],
    "mars": [{}, {"gamma": 0.1, "weight_decay": 0.1}, {"clipped": False}],
    "muon": [
        {},
        {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.0, "nesterov": False},
        {"accumulation": "sum", "adjust_lr_fn": "match_rms_adamw", "ns_set": "quintic"},
        {"accumulation": "feedback", "nesterov": False, "adjust_lr_fn": "none", "ns_steps": 2},
        {"ns_set": "polar_express", "adjust_lr_fn": "spectral_unclamped"},
        {"ns_set": "cans", "ns_steps": 7},
        {"ns_set": "polar_express_8"},
        {"ns_set": "deepseek_v4"},
        {"ns_set": "cubic"},
        {"ns_set": "aol"},
    ],
    "muonclip": [
        {},
        {"accumulation": "sum", "nesterov": False, "adjust_lr_fn": "match_rms_adamw"},
        {"lr": 0.05, "logit_threshold": 20.0, "clip_exponent": 1.0, "ns_set": "quintic"},
        {"logit_threshold": 0.5, "clip_exponent": 0.3, "accumulation": "feedback"}
        | {"nesterov": False, "ns_set": "polar_express", "adjust_lr_fn": "none"},
        {"clip_exponent": 0.0, "adjust_lr_fn": "spectral_unclamped", "weight_decay": 0.0},
    ],
    "normuon": [
        {},
        {"nesterov": True, "mu": 0.9, "muon_beta2": 0.8, "adjust_lr": "rms_norm"},
        {"cautious_wd": True, "weight_decay": 0.5, "lr": 0.05, "adjust_lr": "none"},
        {"ns_set": "aol", "epsilon": 0.01, "ns_steps": 2},
    ],
    "novograd": [{}, {"beta1": 0.8, "weight_decay": 0.1}],
    "polargrad": [
        {},
        {"lr": 0.01, "nesterov": True, "momentum": 0.9, "extra_scale_factor": 0.2},
        {"lr": 0.01, "polar_first": True, "weight_decay": 0.1},
        {"lr": 0.01, "ns_set": "deepseek_v4"},
    ],
    "prodigy": [
        {},
        {"d0": 1e-3, "weight_decay": 0.1, "growth_rate": 1.5},
        {"d0": 1e-2, "d_coef": 0.5, "beta3": 0.9},
    ],
    "qhadam": [
        {},
        {"nu1": 0.5, "nu2": 0.8, "weight_decay": 0.1},
        {"weight_decay": 0.1, "decoupled_weight_decay": True},
    ],
    "qhm": [
        {},
        {"lr": 0.1, "momentum": 0.9, "nu": 0.5},
        {"lr": 0.1, "weight_decay": 0.05},
        {"lr": 0.1, "weight_decay": 0.05, "weight_decay_type": "direct"},
    ],
    "rowwise_adagrad": [
        {},
        {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.5},
        {"weight_decay": 0.1, "eps": 1e-3},
    ],
    "schedule_free_adamw": [{}, {"warmup_steps": 7, "weight_decay": 0.1}],
    "schedule_free_sgd": [{}, {"lr": 0.1, "warmup_steps": 7, "weight_decay": 0.1}],
    "scion": [
        {},
        {"momentum": 0.1, "norm": "Spectral", "clamped": True, "ns_set": "quintic"},
        {"momentum": 0.1, "unconstrained": True, "normalized": False, "scale": 3.0},
        {"momentum": 0.1, "norm": "Sign", "lr": 0.01},
        {"momentum": 0.1, "norm": "Sign", "normalized": False},
        {"momentum": 0.1, "norm": "ColNorm", "lr": 0.01, "unconstrained": True},
        {"momentum": 0.5, "norm": "ColNorm", "normalized": True, "transposed": True, "lr": 0.1},
        {"momentum": 0.1, "norm": "RowNorm", "lr": 0.01},
        {"momentum": 0.1, "norm": "RowNorm", "normalized": False, "transposed": True},
        {"momentum": 0.1, "norm": "BiasRMS", "lr": 0.01, "eps": 0.01},
    ],
    "signum": [{}, {"momentum": 0.0}, {"lr": 0.01, "weight_decay": 0.1}],
    "sophia": [{}, {"lr": 0.01, "gamma": 0.5, "weight_decay": 0.0}],
    "stable_adamw": [
        {},
        {"lr": 0.05, "beta1": 0.8, "beta2": 0.999, "weight_decay": 0.1},
        {"eps": 0.5, "beta2": 0.9},
    ],
    "yogi": [{}, {"bias_correction": False}, {"weight_decay": 0.1, "beta2": 0.9}],
}

CASES = [
    Case(rule, options | more)
    for rule, chosen in OPTIONS.items()
    for options in chosen
    for more in ({}, {"maximize": True})
]


def give_hessian(rule, step, optimizer, reference, theirs):
    """Writes the same estimate into both states, as a trainer does now and then."""
    if "hessian" not in rule.states or step % 5 != 0:
        return
    generator = torch.Generator().manual_seed(step)
    for index, param in enumerate(theirs):
        estimate = torch.randn(param.shape, generator=generator, dtype=torch.float64)
        reference.state[param]["hessian"] = estimate
        optimizer.state(index)["hessian"][...] = estimate.numpy()


def give_logits(rule, step, optimizer, reference, theirs):
    """Writes the same logits into both states, for the next step: one for each head, and for each
    row of it. In some steps there are none.
    """
    if "max_logits" not in rule.states or step % 3 == 0:
        return
    generator = torch.Generator().manual_seed(step)
    for index, param in enumerate(theirs):
        if param.dim() < 2:
            continue
        state = optimizer.state(index)["max_logits"]
        assert (state == 0).all()
        heads = 3 if state.size % 3 == 0 else state.size
        logits = 200 * torch.rand(heads, generator=generator, dtype=torch.float64)
        reference.state[param]["max_logits"] = logits
        state[...] = logits.repeat_interleave(state.size // heads).view(state.shape).numpy()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rules_are_the_published_algorithms(case):
    generator = torch.Generator().manual_seed(20)
    theirs, ours = random_params(generator, torch.float64)
    rule = updraft.compile_file(RULES / f"{case.rule}.upd", defaults=case.options, storage=DOUBLE)
    optimizer = updraft.ArrayOptimizer(rule, ours)
    reference = OPTIMIZERS[case.rule](theirs, **case.options)
    closeness = Closeness(theirs, ours)
    for step in twenty_steps(reference, optimizer, generator):
        give_hessian(rule, step, optimizer, reference, theirs)
        give_logits(rule, step, optimizer, reference, theirs)
        for index, (error, scale) in enumerate(closeness.errors()):
            assert error / scale <= TOLERANCE * step, f"step {step}, parameter {index}: {error}"
    assert closeness.all_moved()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_defaults_are_the_published_ones(name):
    rule = updraft.compile_file(RULES / f"{name}.upd")
    expected = OPTIMIZERS[name].defaults_of_rule
    assert rule.hypers.keys() <= expected.keys()
    for hyper, default in rule.hypers.items():
        assert default == expected[hyper], hyper


def test_every_rule_is_compared():
    tests = pathlib.Path(__file__).parent
    against_torch = "".join(
        (tests / name).read_text() for name in ("test_against_torch.py", "test_rows.py")
    )
    compared = OPTIONS.keys() | test_second_order.OPTIONS.keys()
    for path in RULES.glob("*.upd"):
        assert path.stem in compared or f'"{path.stem}"' in against_torch, path
    assert compared == OPTIMIZERS.keys()
