"""The results of `@updraft.rule`, `updraft.load` and `updraft.chain`."""

import copy
import math
import pickle
import sys

import numpy
import pytest

import updraft
from updraft import lang
from updraft.derived_flags import DerivedFlags

from . import traced_rules
from .conftest import RULES, SGD


@updraft.rule
def momentum(param, grad, state, lr=0.1, mu=0.9, nesterov=False):
    """Momentum, in Nesterov's form if asked."""
    velocity = mu * state.setdefault("velocity", 0) + grad
    state["velocity"] = velocity
    direction = grad + mu * velocity if nesterov else velocity
    return param - lr * direction


@updraft.transform
def scaled(grad, by=0.5, flip=False):
    """Scales the gradient."""
    return -grad * by if flip else grad * by


def one_step(rule, dtype="float32", **hypers):
    weights = numpy.zeros(3, dtype)
    optimizer = updraft.ArrayOptimizer(rule, [weights], **hypers)
    optimizer.step([numpy.ones(3, dtype)])
    return weights[0]


def test_attributes_of_a_definition():
    assert momentum.name == "momentum"
    assert momentum.__doc__ == "Momentum, in Nesterov's form if asked."
    assert momentum.hypers == {"lr": 0.1, "mu": 0.9}
    assert momentum.statics == {"nesterov": False}
    assert momentum.states == {"velocity": "f32"}
    assert repr(momentum) == "<updraft rule definition momentum(lr=0.1, mu=0.9, nesterov=False)>"
    for definition in (traced_rules.adamw, traced_rules.nadam, traced_rules.adafactor):
        assert definition.states == definition.compile().states


def test_static_arguments_specialise_once():
    calls = []

    @updraft.rule
    def r(param, grad, lr=0.1, sign=False, power: lang.Static[int] = 1):
        calls.append((sign, power))
        return param - lr * (lang.sign(grad) if sign else grad) ** power

    for _ in range(2):
        assert "sign(grad) ^ 3" in r.to_upd(sign=True, power=3)
        assert "sign" not in r.to_upd()
        r.compile(defaults={"sign": True, "power": 3, "lr": 0.5})
    assert calls == [(True, 3), (False, 1)]
    assert r.hypers == {"lr": 0.1}
    # 1 and True are two choices.
    r.to_upd(sign=True, power=True)
    assert calls[-1] == (True, True)
    assert r.to_upd(sign=numpy.bool_(True), power=numpy.int64(3)) == r.to_upd(sign=True, power=3)
    assert len(calls) == 3


def test_static_arguments_of_any_kind():
    @updraft.rule
    def r(param, grad, betas: "lang.Static" = (0.9, 0.99), norm: lang.Static = None):
        return param - betas[0] * grad if norm is None else norm(param)

    assert r.statics == {"betas": (0.9, 0.99), "norm": None}
    assert r.hypers == {}
    assert "0.5 * grad" in r.to_upd(betas=(0.5,))
    with pytest.raises(updraft.InvalidArgumentError, match="a static argument must be hashable"):
        r.to_upd(betas=[0.5])
    with pytest.raises(updraft.InvalidArgumentError, match="`r` has no static argument `beta`"):
        r.to_upd(beta=1)


def test_an_optimizer_takes_it_as_it_is():
    assert one_step(momentum, lr=0.5) == numpy.float32(-0.5)
    assert one_step(momentum, lr=0.5, nesterov=True) == numpy.float32(-0.5 * 1.9)
    # The storage type is that of the parameters.
    assert one_step(momentum, "float64", lr=0.1) == -0.1
    groups = [{"params": (numpy.zeros(2), numpy.zeros(1))}]
    assert updraft.ArrayOptimizer(momentum, groups).rule.param_dtype == "f64"
    with pytest.raises(updraft.NotFoundError, match="`rate`"):
        one_step(momentum, rate=1)


def test_a_parameter_of_another_type_is_refused_by_its_number():
    for rule in (updraft.load("SGD"), updraft.load("SGD").compile()):
        with pytest.raises(updraft.UnsupportedError) as error:
            updraft.ArrayOptimizer(rule, [numpy.ones(3, "int32")])
        assert str(error.value).startswith("parameter 0 has dtype `int32`; the storage types are ")


def test_compile_takes_it_too():
    rule = updraft.compile(
        momentum, defaults={"nesterov": True, "lr": 1}, storage={"state": "bf16"}
    )
    assert rule.hypers == {"lr": 1.0, "mu": 0.9}
    assert rule.states == {"velocity": "bf16"}
    assert rule.emit("schedule") == momentum.ir(
        defaults={"nesterov": True, "lr": 1}, storage={"state": "bf16"}
    )
    assert updraft.compile(momentum).origin in ("memory", "disk", "compiled")
    assert momentum.compile().origin == "memory"
    with pytest.raises(updraft.InvalidArgumentError, match="but `momentum` is a definition; give"):
        updraft.compile(momentum, rule="clip_by_value |> momentum")
    with pytest.raises(updraft.CompileError, match="has no hyperparameter or static flag `rate`"):
        momentum.compile(defaults={"rate": 1})


def test_every_stage_and_what_a_step_costs():
    for stage in updraft.CompiledRule.STAGES:
        assert momentum.ir(stage)
    assert momentum.explain().startswith("momentum: 1 sweep over data, 20 bytes moved per element")
    assert momentum.explain() == momentum.compile().explain()


def test_other_defaults():
    quick = momentum(lr=3.5, nesterov=True)
    assert quick.hypers == {"lr": 3.5, "mu": 0.9}
    assert quick.statics == {"nesterov": True}
    assert quick(mu=0.5).hypers == {"lr": 3.5, "mu": 0.5}
    assert momentum.hypers == {"lr": 0.1, "mu": 0.9}
    assert quick.compile().hypers == {"lr": 3.5, "mu": 0.9}
    assert one_step(quick) == numpy.float32(-3.5 * 1.9)
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        momentum(rate=1)
    assert str(caught.value) == (
        "`momentum` has no hyperparameter or static argument `rate`; it has `lr`, `mu`, `nesterov`"
    )
    with pytest.raises(TypeError, match="hyperparameter `lr` is <class 'str'>; give a number"):
        momentum(lr="fast")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol):
    def again(definition):
        return pickle.loads(pickle.dumps(definition, protocol))

    assert again(momentum) is momentum
    quick = again(momentum(lr=3.5)(nesterov=True))
    assert quick.hypers == {"lr": 3.5, "mu": 0.9}
    assert quick.statics == {"nesterov": True}
    adamw = again(updraft.load(RULES / "adamw.upd")(lr=1e-4))
    assert adamw.hypers["lr"] == 1e-4
    chain = updraft.chain(scaled, momentum(lr=2))(by=0.25)
    assert again(chain).to_upd() == chain.to_upd()
    assert again(chain).hypers == chain.hypers == {"by": 0.25, "lr": 2.0, "mu": 0.9}


def test_pickling_what_no_module_has():
    local = updraft.rule(lambda param, grad: param - grad)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(local)


def test_copies():
    assert copy.copy(momentum) is momentum
    assert copy.deepcopy(momentum) is momentum
    assert copy.deepcopy(momentum(lr=2)).hypers == {"lr": 2.0, "mu": 0.9}


def test_a_file():
    adamw = updraft.load(RULES / "adamw.upd")
    assert adamw.name == "AdamW"
    assert adamw.hypers["beta2"] == 0.999
    assert adamw.statics == {"amsgrad": False, "maximize": False}
    assert adamw.states == {"exp_avg": "f32", "exp_avg_sq": "f32"}
    assert adamw.to_upd() == (RULES / "adamw.upd").read_text().rstrip("\n")
    assert adamw.compile(defaults={"amsgrad": True}).states.keys() > adamw.states.keys()
    assert adamw(amsgrad=True).states.keys() > adamw.states.keys()
    assert one_step(adamw, lr=0.5) == one_step(adamw(lr=0.5))
    with pytest.raises(updraft.FileMissingError):
        updraft.load("nothing.upd")


def test_flags_that_follow_from_hyperparameters():
    sgd = updraft.load("SGD")
    for defaults, rates in (({}, (0, 0.5)), ({"momentum": 0.9}, (0.5, 0))):
        flags = DerivedFlags(sgd.compile(defaults=defaults))
        assert flags.hypers == ["momentum"]
        assert [flags.hold_for({"momentum": rate}) for rate in rates] == [True, False]
        # There is no code for values that the rule refuses.
        assert not flags.hold_for({"momentum": -1})
        assert not flags.hold_for({"momentum": float("nan")})
        # Values of other hyperparameters aren't checked here.
        assert flags.hold_for({"momentum": rates[0], "lr": -1})
    set_flag = DerivedFlags(sgd.compile(defaults={"buffered": True}))
    assert set_flag.hypers == []
    assert set_flag.hold_for({"momentum": 0})
    assert sgd.statics["buffered"] is False
    weights = numpy.zeros(1, "float32")
    optimizer = updraft.ArrayOptimizer(sgd, [weights], momentum=0.5, lr=1)
    for expected in (-1, -2.5):
        optimizer.step([numpy.ones(1, "float32")])
        assert weights[0] == expected
    assert optimizer.rule.states == {"momentum_buffer": "f32"}
    # Values that are invalid for all code are still refused.
    with pytest.raises(updraft.InvalidArgumentError, match="Invalid learning rate: -1"):
        updraft.ArrayOptimizer(sgd, [weights], lr=-1)
    with pytest.raises(updraft.InvalidArgumentError, match=r"^Invalid momentum value: -1\.0$"):
        updraft.ArrayOptimizer(sgd, [weights], momentum=-1)
    with pytest.raises(updraft.InvalidArgumentError, match="changes the static flag `buffered`"):
        groups = [{"params": [weights]}, {"params": [numpy.zeros(1, "float32")], "momentum": 0}]
        updraft.ArrayOptimizer(sgd, groups, momentum=0.5)


def test_a_flag_that_takes_other_hyperparameters_than_the_defaults():
    @updraft.rule
    def scaled(param, grad, lr=1.0, scale=0.0, scales=False):
        lang.require((scale > 0) | (not scales), "Invalid scale: {scale}")
        return param - lr * (scale * grad if scales else grad)

    weights = numpy.zeros(1, "float32")
    optimizer = updraft.ArrayOptimizer(scaled, [weights], scales=True, scale=0.5)
    optimizer.step([numpy.ones(1, "float32")])
    assert weights[0] == -0.5
    for hypers in ({}, {"scale": -1}, {"lr": 2}):
        with pytest.raises(updraft.CompileError, match="Invalid scale: 0"):
            updraft.ArrayOptimizer(scaled, [weights], scales=True, **hypers)


def test_the_rules_of_the_package():
    names = {
        line.split("(")[0].removeprefix("rule ")
        for file in RULES.glob("*.upd")
        for line in file.read_text().splitlines()
        if line.startswith("rule ")
    }
    assert set(updraft.shipped_rules()) == names
    assert updraft.load("AdamW").to_upd() == updraft.load(RULES / "adamw.upd").to_upd()
    assert updraft.load("adamw").name == "AdamW"
    assert updraft.load("ScheduleFreeSGD").name == "ScheduleFreeSGD"
    chain = updraft.chain("clip_by_value(0.5)", "SGD(lr = 2)")
    assert one_step(chain) == -1
    assert updraft.chain(updraft.chain(scaled, "lion"), "ema_of_weights").name
    with pytest.raises(updraft.FileMissingError) as caught:
        updraft.load("AdamWx")
    assert str(caught.value) == "unknown rule `AdamWx`; did you mean `AdamW`?"
    with pytest.raises(updraft.FileMissingError) as caught:
        updraft.load("nothing_like_it")
    assert str(caught.value) == (
        "unknown rule `nothing_like_it`; `updraft.shipped_rules()` lists the rules of the package, "
        "and the name of a file ends in `.upd`"
    )


def test_one_rule_of_a_file(tmp_path):
    file = tmp_path / "two.upd"
    file.write_text(SGD + SGD.replace("SGD", "Half").replace("lr = 0.1", "lr = 0.05"))
    assert updraft.load(file, "Half").hypers == {"lr": 0.05}
    clipped = updraft.load(file, "clip_by_value(2) |> SGD")
    assert clipped.hypers == {"bound": 2.0, "lr": 0.1}
    with pytest.raises(updraft.CompileError, match="several rules"):
        updraft.load(file)
    longer = updraft.chain("centralize |> clip_by_value(1)", clipped, "ema_of_weights")
    assert longer.name == "centralize_clip_by_value_clip_by_value_SGD_ema_of_weights"
    assert list(longer.hypers) == ["clip_by_value_bound", "clip_by_value2_bound", "lr", "decay"]
    with pytest.raises(updraft.InvalidArgumentError, match="give the arguments to its stages"):
        updraft.chain("centralize", clipped(lr=2)).compile()


def test_a_chain_of_everything():
    adamw = updraft.load(RULES / "adamw.upd")
    chain = updraft.chain(
        updraft.transforms.clip_by_global_norm(max_norm=0.5),
        scaled(by=0.25),
        "clip_by_value(0.125)",
        adamw(lr=1e-4),
        "ema_of_weights",
    )
    assert chain.name == "clip_by_global_norm_scaled_clip_by_value_AdamW_ema_of_weights"
    assert list(chain.hypers) == [
        *("max_norm", "by", "bound", "lr", "beta1", "beta2", "eps", "weight_decay", "decay")
    ]
    assert chain.hypers["lr"] == 1e-4
    assert chain.hypers["by"] == 0.25
    assert chain.statics == {"amsgrad": False, "maximize": False, "flip": False}
    assert chain.states == {"exp_avg": "f32", "exp_avg_sq": "f32", "ema": "f32"}
    flipped = chain(flip=True, amsgrad=True, lr=0.5)
    assert flipped.hypers["lr"] == 0.5
    assert "max_exp_avg_sq" in flipped.states
    assert "-grad * by" in flipped.to_upd()
    assert "-grad" not in flipped.to_upd(flip=False)
    assert one_step(flipped) == pytest.approx(0.5, rel=1e-3)


def test_a_chain_is_what_it_says():
    chain = updraft.chain(scaled, momentum)
    assert (
        chain.to_upd()
        == """\
// Scales the gradient.
transform scaled(by = 0.5) {
  update(grad) {
    next grad = grad * by
  }
}

// Momentum, in Nesterov's form if asked.
rule momentum(lr = 0.1, mu = 0.9) {
  state velocity = 0

  update(param, grad) {
    let new_velocity = mu * velocity + grad

    next velocity = new_velocity
    next param    = param - lr * new_velocity
  }
}

rule scaled_momentum = scaled |> momentum"""
    )
    assert one_step(chain, lr=1) == -0.5
    longer = updraft.chain("clip_by_value", chain)
    assert longer.name == "clip_by_value_scaled_momentum"
    assert one_step(longer, bound=0.5, lr=1) == -0.25


def test_one_transform_twice():
    chain = updraft.chain(scaled, scaled(by=0.25), momentum)
    assert chain.name == "scaled_scaled_momentum"
    assert "transform scaled_2(by = 0.25)" in chain.to_upd()
    assert one_step(chain, lr=1) == -0.125
    assert one_step(updraft.chain(scaled, scaled, momentum), lr=1) == -0.25


def test_a_function_with_the_name_of_a_written_stage(tmp_path):
    @updraft.transform
    def clip_by_value(grad, times=4.0):
        return times * grad

    for stage in (updraft.transforms.clip_by_value(bound=0.5), "centralize |> clip_by_value(0.5)"):
        chain = updraft.chain(clip_by_value, "clip_by_value(8)", stage, momentum)
        assert "transform clip_by_value_2(times = 4)" in chain.to_upd()
    library = updraft.transforms.clip_by_value(bound=0.5)
    assert one_step(updraft.chain(clip_by_value, library, momentum), lr=1) == -0.5
    assert one_step(updraft.chain(library, clip_by_value, momentum), lr=1) == -2

    file = tmp_path / "scaled.upd"
    file.write_text(
        "transform scaled() { update(grad) { next grad = 4 * grad } }\n"
        "rule Plain(lr = 1) { update(param, grad) { next param = param - lr * grad } }\n"
    )
    loaded = updraft.load(file, rule="scaled |> Plain")
    assert one_step(updraft.chain(scaled, loaded)) == -2

    file = tmp_path / "clipping.upd"
    file.write_text(
        "transform clip_by_value() { update(grad) { next grad = 4 * grad } }\n"
        "rule Plain(lr = 1) { update(param, grad) { next param = param - lr * grad } }\n"
    )
    with pytest.raises(updraft.CompileError, match="the library has a transform of that name"):
        updraft.chain(library, updraft.load(file, rule="Plain")).compile()


def test_defaults_of_a_chain_within_a_chain():
    inner = updraft.chain("clip_by_value(9)", "SGD")
    outer = updraft.chain("clip_by_value(5)", inner(lr=0.25, maximize=True))
    assert outer.hypers["lr"] == 0.25
    assert one_step(outer) == 0.25
    assert one_step(outer(lr=0.5)) == 0.5
    with pytest.raises(
        updraft.InvalidArgumentError,
        match=r"two chains within the chain have different defaults of `lr`, 0.5 and 0.25; give",
    ):
        updraft.chain(inner(lr=0.5), inner(lr=0.25))


def test_static_arguments_of_two_stages():
    @updraft.transform
    def multiplied(grad, mode="twice"):
        return 2 * grad if mode == "twice" else 3 * grad

    assert one_step(updraft.chain(multiplied, multiplied, momentum), lr=1) == -4
    with pytest.raises(
        updraft.InvalidArgumentError,
        match=r"different values of the static argument `mode`, 'twice' and 'thrice', but",
    ):
        updraft.chain(multiplied, multiplied(mode="thrice"), momentum)


def test_a_transform_after_the_rule():
    @updraft.transform
    def half_way(param, new_param):
        return (param + new_param) / 2

    assert one_step(updraft.chain(momentum, half_way), lr=1) == -0.5


def test_a_transform_after_the_rule_that_does_not_look_at_its_result():
    @updraft.transform
    def back(param, new_param):
        return param

    assert one_step(updraft.chain(momentum, back), lr=1) == 0


def test_a_transform_that_changes_the_parameter_too():
    @updraft.transform
    def shifted(param, grad):
        return {"grad": grad * 2, "param": param + 1}

    assert one_step(updraft.chain(shifted, momentum), lr=1) == -1


def test_a_transform_that_holds():
    @updraft.transform
    def every_other(grad, step):
        lang.hold_when(step - 2 * lang.floor(step / 2) < 1)
        return grad

    weights = numpy.zeros(1)
    optimizer = updraft.ArrayOptimizer(updraft.chain(every_other, momentum), [weights], lr=1, mu=0)
    for expected in (-1, -1, -2):
        optimizer.step([numpy.ones(1)])
        assert weights[0] == expected


def test_chains_that_are_wrong():
    with pytest.raises(updraft.InvalidArgumentError, match="a chain has no stages"):
        updraft.chain()
    with pytest.raises(TypeError, match="a stage is <class 'int'>; give definitions"):
        updraft.chain(1)
    line = sys._getframe().f_lineno + 1
    wrong = updraft.chain(scaled, "clip_by_valu", momentum)
    with pytest.raises(updraft.CompileError) as caught:
        wrong.compile()
    assert (
        str(caught.value)
        == f"""\
{__file__}:{line}:13: error: there is no rule or transform `clip_by_valu`; did you mean \
`clip_by_value`?
    wrong = updraft.chain(scaled, "clip_by_valu", momentum)
            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"""
    )


def test_a_transform_alone():
    with pytest.raises(updraft.CompileError, match="`scaled` is a transform, not a rule; write"):
        scaled.compile()
    assert scaled.states == {}


def test_zeros_of_both_signs_are_other_choices():
    @updraft.rule
    def signed(param, grad, zero: lang.Static = 0.0, pair: lang.Static = (0.0,)):
        return param - grad * math.copysign(1, zero) * math.copysign(1, pair[0])

    def step(**statics):
        weights = numpy.zeros(1, dtype="float32")
        updraft.ArrayOptimizer(signed(**statics), [weights]).step([numpy.ones(1, dtype="float32")])
        return weights[0]

    assert step() == -1
    assert step(zero=-0.0) == 1
    assert step(zero=0.0) == -1
    assert step(pair=(-0.0,)) == 1


def test_an_initial_value_of_many_uses():
    """Each value is visited once, not once per path to it: text doesn't have shared values."""

    @updraft.rule
    def doubled(param, grad, state):
        value = param
        for _ in range(60):
            value = value + value
        start = state.setdefault("start", value)
        assert state.setdefault("start", value) is start
        return param - grad * start

    with pytest.raises(updraft.CompileError, match="more than 65536 bytes of text"):
        doubled.compile()


@updraft.transform
def exact_copy(param, state, scale=1):
    return {"param": state.setdefault("exact", param, storage="f64") * scale}


@exact_copy.finish
def exact_copy(new_param, state, scale):
    state["exact"] = new_param / scale


@pytest.mark.parametrize("stage", ["SGD", "SGD(lr = 2)", updraft.load("SGD"), momentum])
def test_a_chain_of_one_stage(stage):
    made = updraft.chain(stage)
    assert made.name in ("chain_of_SGD", "chain_of_momentum")
    assert one_step(made, lr=1) == one_step(updraft.chain("clip_by_value(9)", stage), lr=1) == -1


def test_finish_runs_after_the_rule():
    assert (
        exact_copy.to_upd()
        == """\
transform exact_copy(scale = 1) {
  state exact = param : f64

  update() {
    next param = exact * scale
  }

  finish(new_param) {
    next exact = new_param / scale
  }
}"""
    )
    weights = numpy.ones(3, "float32")
    optimizer = updraft.ArrayOptimizer(
        updraft.chain(exact_copy, momentum), [weights], lr=1e-9, mu=0
    )
    for _ in range(3):
        optimizer.step([numpy.ones(3, "float32")])
    assert (weights == 1).all()
    assert optimizer.state(0)["exact"] == pytest.approx(1 - 3e-9, abs=1e-12)
    assert pickle.loads(pickle.dumps(exact_copy)) is exact_copy
    assert "next exact" in exact_copy(scale=2).to_upd()


def test_finish_that_is_wrong():
    with pytest.raises(TypeError, match="`momentum` is a rule; only transforms have `finish`"):
        momentum.finish(lambda new_param: new_param)
    wrong = updraft.transform(name="wrong")(lambda grad: grad).finish(lambda rate: rate)
    with pytest.raises(updraft.CompileError, match="unknown input `rate` of `finish`; the in"):
        wrong.to_upd()
    leaking = []

    @updraft.transform
    def leak(grad):
        leaking.append(grad * 2)
        return grad

    leak = leak.finish(lambda new_param: new_param + leaking[0])
    with pytest.raises(updraft.CompileError, match="unknown name `grad`; add it to the inputs of"):
        updraft.chain(leak, momentum).compile()
