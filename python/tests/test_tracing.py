"""Rules in Python are bitwise equal to their files."""

import numpy
import pytest

import updraft

from . import traced_rules
from .conftest import RULES

SHAPES = [(41, 29), (7,), (1,), (3, 5, 2), ()]


def steps_of(rule, dtype, hypers, *, count=7, broken=None):
    """The parameters and states after some steps with random gradients."""
    generator = numpy.random.default_rng(1)
    params = [numpy.asarray(generator.normal(size=shape)).astype(dtype) for shape in SHAPES]
    optimizer = updraft.ArrayOptimizer(rule, params, **hypers)
    optimizer.seed = 3
    for step in range(count):
        grads = [numpy.asarray(generator.normal(size=shape)).astype(dtype) for shape in SHAPES]
        if step == broken:
            grads[2][0] = numpy.inf
        optimizer.step(grads)
    states = [optimizer.state(index) for index in range(len(params))]
    return params, states, [optimizer.step_count(index) for index in range(len(params))]


def assert_same(first, second):
    assert first[2] == second[2]
    for ours, theirs in zip(first[0], second[0], strict=True):
        assert ours.tobytes() == theirs.tobytes()
    for ours, theirs in zip(first[1], second[1], strict=True):
        assert ours.keys() == theirs.keys()
        for name, array in ours.items():
            assert array.tobytes() == theirs[name].tobytes(), name


CASES = {
    "adamw": (traced_rules.adamw, "adamw.upd", {}, {}, {}),
    "adamw amsgrad": (
        traced_rules.adamw,
        "adamw.upd",
        {"amsgrad": True, "maximize": True},
        {},
        {"lr": 0.05},
    ),
    "nadam": (traced_rules.nadam, "nadam.upd", {}, {}, {"weight_decay": 0.1}),
    "nadam decoupled": (
        traced_rules.nadam,
        "nadam.upd",
        {"decoupled_weight_decay": True},
        {},
        {"weight_decay": 0.1},
    ),
    "lars": (traced_rules.lars, "lars.upd", {}, {}, {"momentum": 0.8}),
    "adafactor": (traced_rules.adafactor, "adafactor.upd", {}, {}, {"weight_decay": 0.1}),
    "sgd": (traced_rules.sgd, "sgd.upd", {}, {}, {}),
    "sgd nesterov": (
        traced_rules.sgd,
        "sgd.upd",
        {"nesterov": True, "buffered": True},
        {"momentum": 0.9},
        {"momentum": 0.9},
    ),
}


@pytest.mark.parametrize("numerics", ["ieee", "torch"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_traced_rules_equal_their_files(case, dtype, numerics):
    traced, file, statics, defaults, hypers = CASES[case]
    storage = {"param": dtype, "grad": dtype}
    ours = traced.compile(defaults=statics | defaults, storage=storage, numerics=numerics)
    theirs = updraft.compile_file(
        RULES / file, defaults=statics | defaults, storage=storage, numerics=numerics
    )
    assert_same(steps_of(ours, dtype, hypers), steps_of(theirs, dtype, hypers))


def test_a_transform_skips_the_step():
    traced = updraft.chain(traced_rules.unscaled, traced_rules.sgd)
    theirs = updraft.compile_file(RULES / "sgd.upd", rule="unscale |> SGD")
    hypers = {"inv_scale": 0.5}
    ours = steps_of(traced, "float32", hypers, broken=3)
    assert ours[2] == [6] * len(SHAPES)
    assert_same(ours, steps_of(theirs, "float32", hypers, broken=3))


def test_random_numbers():
    traced = updraft.chain(traced_rules.noisy, traced_rules.sgd)
    theirs = updraft.compile_file(RULES / "sgd.upd", rule="add_noise |> SGD")
    assert_same(steps_of(traced, "float32", {}), steps_of(theirs, "float32", {}))


@pytest.mark.parametrize("case", CASES)
def test_the_text_gives_the_same_code(case):
    traced, _, statics, defaults, _ = CASES[case]
    again = updraft.compile(traced.to_upd(**statics), defaults=defaults)
    assert again.emit("updraft") == traced.ir("updraft", defaults=statics | defaults)
    assert again.emit("asm") == traced.ir("asm", defaults=statics | defaults)


def test_the_text_reads_like_a_rule():
    assert (
        traced_rules.adamw.to_upd(amsgrad=True)
        == """\
// Adam with decoupled weight decay.
rule AdamW(lr = 0.001, beta1 = 0.9, beta2 = 0.999, eps = 1e-08, weight_decay = 0.01)
  require lr >= 0                 else "Invalid learning rate: {lr}"
  require beta1 >= 0 && beta1 < 1 else "Invalid beta parameter at index 0: {beta1}"
{
  state exp_avg        = 0
  state exp_avg_sq     = 0
  state max_exp_avg_sq = 0

  update(param, grad, step) {
    let decayed = param * (1 - lr * weight_decay)
    let m = lerp(exp_avg, grad, 1 - beta1)
    let v = addcmul(exp_avg_sq * beta2, grad, grad, 1 - beta2)
    let u = max(max_exp_avg_sq, v)
    let step_size = lr / (1 - beta1 ^ step)
    let denom = sqrt(u) / sqrt(1 - beta2 ^ step) + eps

    next exp_avg        = m
    next exp_avg_sq     = v
    next max_exp_avg_sq = u
    next param          = addcdiv(decayed, m, denom, -step_size)
  }
}"""
    )
