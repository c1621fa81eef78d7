"""Errors of steps on torch tensors, and of `updraft` for unknown names."""

import warnings

import pytest
import torch

import updraft
from updraft import optim

X = torch.ones(3)
STEP = updraft.load("AdamW").to_torch()
INVALID = updraft.InvalidArgumentError
STATES = "of the rule `AdamW` it has `step`, `exp_avg`, `exp_avg_sq`"


def state(**changes):
    _, after = STEP([X], [X])
    after["params"][0].update(changes)
    return after


STEPS = [
    (
        lambda: STEP(X, X),
        TypeError,
        "`params` is <class 'torch.Tensor'>; give a list of tensors, or a dict with their names",
    ),
    (
        lambda: STEP([X], 3),
        TypeError,
        "`grads` is <class 'int'>; give a list of tensors, or a dict with their names",
    ),
    (
        lambda: STEP({"a": X}, {"b": X}),
        INVALID,
        "parameter `a` has no gradient; give it, or None",
    ),
    (lambda: STEP([3.0], [X]), TypeError, "parameter `0` is <class 'float'>; give a tensor"),
    (
        lambda: STEP([X], [3.0]),
        TypeError,
        "the gradient of parameter `0` is <class 'float'>; give a tensor, or None",
    ),
    (
        lambda: STEP([X.int()], [X.int()]),
        INVALID,
        "parameter `0` is torch.int32; give float32, float64, bfloat16, float16",
    ),
    (
        lambda: STEP([X + 0j], [X + 0j]),
        INVALID,
        "parameter `0` is torch.complex64; give float32, float64, bfloat16, float16, or pairs by "
        "`torch.view_as_real`",
    ),
    (
        lambda: STEP([X, X.double()], [X, X.double()]),
        INVALID,
        "parameter `1` is torch.float64, and one before it is torch.float32; take a step of each "
        "dtype",
    ),
    (
        lambda: STEP([X], [X.to_sparse()]),
        INVALID,
        "the gradient of parameter `0` is sparse; give the dense one, `to_dense()`",
    ),
    (
        lambda: STEP([X], [torch.ones(2)]),
        INVALID,
        "the gradient of parameter `0` is [2], but the parameter is [3]; give a tensor of the same "
        "shape",
    ),
    (
        lambda: STEP([X], [X.double()]),
        INVALID,
        "the gradient of parameter `0` is torch.float64, but the parameter is torch.float32; "
        "convert it",
    ),
    (
        lambda: STEP([X], [X], lr="a"),
        TypeError,
        "hyperparameter `lr` is <class 'str'>; give a number, or a tensor of one",
    ),
    (
        lambda: STEP([X], [X], lr=torch.ones(2)),
        INVALID,
        "hyperparameter `lr` is a tensor of [2]; give one number",
    ),
]

STATES_GIVEN = [
    (
        lambda: [X],
        TypeError,
        "`state` is <class 'list'>; give what the step before returned, or None",
    ),
    (
        lambda: {"exp_avg": X},
        INVALID,
        "the state has the entry `exp_avg`; give what the step before returned, a dict of `params` "
        "and `group`",
    ),
    (
        lambda: {"params": {7: {}}},
        INVALID,
        "there are states of parameter `7`, which is not among the parameters",
    ),
    (
        lambda: {"params": {0: {"step": X[0], "exp_avg": X}}},
        INVALID,
        f"parameter `0` lacks the state `exp_avg_sq`; {STATES}, or none before its first step",
    ),
    (
        lambda: state(momentum=X),
        INVALID,
        f"parameter `0` has the state `momentum`; {STATES}",
    ),
    (
        lambda: state(exp_avg=3),
        TypeError,
        "the state `exp_avg` of parameter `0` is <class 'int'>; give a tensor",
    ),
    (
        lambda: state(exp_avg=torch.ones(2)),
        INVALID,
        "the state `exp_avg` of parameter `0` is [2]; give one of [3]",
    ),
]


def linear(dtype=None):
    return torch.nn.Linear(2, 1, dtype=dtype)


def inner_step(loss_of):
    inner = updraft.MetaOptimizer(linear(), "SGD", lr=0.1)
    inner.step(loss_of(inner))


META = [
    (
        lambda: updraft.MetaOptimizer(3, "SGD"),
        TypeError,
        "`module` is <class 'int'>; give a `torch.nn.Module`",
    ),
    (
        lambda: updraft.MetaOptimizer(torch.nn.ReLU(), "SGD"),
        INVALID,
        "no parameter of the module requires a gradient",
    ),
    (
        lambda: updraft.MetaOptimizer(linear(), 3),
        TypeError,
        "`rule` is <class 'int'>; give a function with `@updraft.rule`, a chain, the name of a "
        "rule of the package, or a file",
    ),
    (
        lambda: updraft.MetaOptimizer(linear(), "SGD", rate=1),
        INVALID,
        "`SGD` has no hyperparameter `rate`; there are `lr`, `momentum`, `dampening`, "
        "`weight_decay`",
    ),
    (
        lambda: updraft.MetaOptimizer(linear(), "SGD", lr="a"),
        TypeError,
        "hyperparameter `lr` is <class 'str'>; give a number, or a tensor of one",
    ),
    (lambda: inner_step(lambda inner: 3.0), TypeError, "`loss` is <class 'float'>; give a tensor"),
    (
        lambda: inner_step(lambda inner: torch.ones(())),
        INVALID,
        "`loss` does not depend on the parameters; call the optimizer in place of the module",
    ),
    (
        lambda: inner_step(lambda inner: inner(torch.ones(3, 2))),
        INVALID,
        "`loss` is [3, 1]; give one number",
    ),
]

NAMES = [
    (
        lambda: optim.Adamm,
        AttributeError,
        "unknown optimizer `Adamm` in `updraft.optim`; did you mean `Adam`?",
    ),
    (
        lambda: optim.xyz,
        AttributeError,
        "unknown optimizer `xyz` in `updraft.optim`; `dir(updraft.optim)` lists them",
    ),
    (
        lambda: updraft.transforms.clip_by_valu,
        AttributeError,
        "unknown transform `clip_by_valu`; did you mean `clip_by_value`?",
    ),
    (
        lambda: updraft.transforms.x,
        AttributeError,
        "unknown transform `x`; `dir(updraft.transforms)` lists them",
    ),
    (
        lambda: updraft.chain("centralize", "clip_by_global_norm").hypers,
        INVALID,
        "the chain `centralize |> clip_by_global_norm` has no rule; add one: its name, a result of "
        "`updraft.load`, or a function with `@updraft.rule`",
    ),
    (
        lambda: updraft.chain("centralize |>", "SGD"),
        INVALID,
        "a stage is empty; give the name of a transform or a rule",
    ),
]


def check(attempt, kind, message):
    with pytest.raises(kind) as error:
        attempt()
    assert str(error.value) == message


@pytest.mark.parametrize("case", STEPS, ids=lambda case: case[2][:40])
def test_tensors_and_hyperparameters(case):
    check(*case)


@pytest.mark.parametrize("case", STATES_GIVEN, ids=lambda case: case[2][:40])
def test_states(case):
    make, kind, message = case
    given = make()
    check(lambda: STEP([X], [X], given), kind, message)


def test_states_of_matrices_and_of_the_group():
    adafactor = updraft.load("Adafactor").to_torch()
    matrix = torch.ones(3, 2)
    _, after = adafactor([matrix], [matrix])
    after["params"][0]["row_var"] = matrix
    check(
        lambda: adafactor([matrix], [matrix], after),
        INVALID,
        "the state `row_var` of parameter `0` is [3, 2]; give one of [3, 1]",
    )
    check(
        lambda: adafactor([X], [X], {"params": {0: {"step": X[0], "row_var": X}}}),
        INVALID,
        "parameter `0` lacks the state `variance`; of the rule `Adafactor` it has `step`, "
        "`variance`, or none before its first step",
    )


@pytest.mark.parametrize("case", META, ids=lambda case: case[2][:40])
def test_meta_optimizer(case):
    check(*case)


@pytest.mark.parametrize("case", NAMES, ids=lambda case: case[2][:40])
def test_names(case):
    check(*case)


def test_a_chain_of_transforms_is_a_part_of_others():
    before = updraft.chain("centralize", "clip_by_global_norm")
    assert "max_norm" in updraft.chain(before, "SGD").hypers


@pytest.mark.parametrize(
    "name, text",
    [
        ("betas", "`betas`, which the rule `AdamW` does not read; it reads `beta1`, `beta2`"),
        (
            "weigth_decay",
            "`weigth_decay`, which the rule `AdamW` does not read; it reads `weight_decay`",
        ),
    ],
)
def test_entries_of_a_group_that_look_like_an_option(name, text):
    with pytest.warns(UserWarning) as caught:
        group = {"params": [X.clone()], name: (0.5, 0.9)}
        optimizer = updraft.optimizer(updraft.load("AdamW"), [group])
    assert [str(warning.message) for warning in caught] == [f"a parameter group has {text}"]
    assert caught[0].filename == __file__
    assert optimizer.param_groups[0][name] == (0.5, 0.9)


def test_other_entries_of_a_group_are_kept():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        group = {"params": [X.clone()], "name": "head", "initial_lr": 0.1, "lr_scale": 2, "lr": 0.2}
        optimizer = updraft.optimizer(updraft.load("AdamW"), [group])
        sgd = updraft.optimizer(updraft.load("SGD"), [X.clone()], momentum=0.9)
        torch.optim.lr_scheduler.OneCycleLR(sgd, max_lr=0.1, total_steps=9)
    assert optimizer.param_groups[0]["name"] == "head"
