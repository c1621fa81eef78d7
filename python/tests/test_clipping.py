"""`updraft.optim.with_clipping` against `torch.nn.utils.clip_grad_norm_` and a step."""

import copy
import math

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

import updraft
from updraft import optim

from .torch_training import (
    DUPLICATES,
    assert_close,
    copy_in_training,
    groups_of,
    parameters,
    scaled_steps,
    set_gradients,
)

STEPS = 30
CASES = [
    ("AdamW", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {"lr": 0.01, "centered": True}),
    ("Adafactor", {"lr": 0.1, "eps": (1e-7, 1e-3)}),
    ("Muon", {"lr": 0.1}),
]


def shapes_of(name):
    return [(9, 4), (4, 6), (3, 5), (2, 2)] if name == "Muon" else [(9, 4), (7,), (), (2, 3, 2)]


def loop(name):
    return {} if name == "Muon" else {"foreach": False}


@pytest.mark.parametrize("max_norm", [0.5, 4.0, 1e6])
@pytest.mark.parametrize("name, options", CASES, ids=[name for name, _ in CASES])
def test_thirty_steps(name, options, max_norm):
    theirs, ours = (parameters(shapes=shapes_of(name)) for _ in range(2))
    reference = getattr(torch.optim, name)(groups_of(theirs), **loop(name), **options)
    optimizer = optim.with_clipping(getattr(optim, name)(groups_of(ours), **options), max_norm)
    for step in range(STEPS):
        for params in (theirs, ours):
            absent = {0, 1, 2, 3} if step == 11 else {0} if step % 7 == 3 else ()
            set_gradients(params, step, absent)
        grads = [None if param.grad is None else param.grad.clone() for param in ours]
        norm = torch.nn.utils.clip_grad_norm_(theirs, max_norm)
        reference.step()
        optimizer.step()
        torch.testing.assert_close(optimizer.last_grad_norm, norm)
        for param, grad in zip(ours, grads, strict=True):
            assert (param.grad is None) == (grad is None)
            assert grad is None or param.grad.equal(grad)
        if step == 15:
            state = copy.deepcopy(optimizer.state_dict())
            getattr(torch.optim, name)(groups_of(ours), **options).load_state_dict(state)
            optimizer.load_state_dict(state)
    if name == "Muon":
        # Its iteration in bf16 amplifies small differences.
        assert all((a - b).abs().max() < 0.05 for a, b in zip(theirs, ours, strict=True))
    else:
        assert_close(theirs, ours, 10 * STEPS)


def test_dtypes_gaps_and_rules_without_torch():
    def make():
        (whole,) = parameters(shapes=[(6, 8)])
        return [
            *parameters(shapes=[(9, 4), (7,)]),
            *parameters(torch.float64, shapes=[(5,)]),
            whole.detach()[:, ::2].requires_grad_(),
        ]

    theirs, ours = make(), make()
    reference = optim.Lion(theirs, lr=0.1)
    optimizer = optim.with_clipping(optim.Lion(ours, lr=0.1), 1.0)
    for step in range(5):
        for params in (theirs, ours):
            set_gradients(params, step)
        torch.nn.utils.clip_grad_norm_(theirs, 1.0, foreach=False)
        reference.step()
        optimizer.step()
    assert_close(theirs, ours, 5)


def test_wrapper_subclasses():
    (plain,) = parameters(shapes=[(9,)])
    param = torch.nn.Parameter(TwoTensor(plain.detach().clone(), plain.detach().clone()))
    optimizer = optim.with_clipping(optim.SGD([plain], lr=1.0), 0.5)
    other = optim.with_clipping(optim.SGD([param], lr=1.0), 0.5)
    set_gradients([plain], 0)
    param.grad = TwoTensor(plain.grad.clone(), plain.grad.clone())
    optimizer.step()
    other.step()
    torch.testing.assert_close(param.a, plain.detach())


def test_memory_that_is_replaced_and_changed_options():
    theirs, ours = (parameters(shapes=[(9,), (3, 2)]) for _ in range(2))
    reference = torch.optim.AdamW(theirs, lr=0.1, foreach=False)
    optimizer = optim.with_clipping(optim.AdamW(ours, lr=0.1), 0.5)
    for step in range(8):
        for params in (theirs, ours):
            if step == 2:
                params[0].data = torch.ones(9)
            set_gradients(params, step)
        if step == 4:
            optimizer.max_grad_norm = None
        if step == 6:
            optimizer.max_grad_norm = 0.25
        if not 4 <= step < 6:
            torch.nn.utils.clip_grad_norm_(theirs, 0.5 if step < 4 else 0.25)
        reference.step()
        optimizer.step()
    assert_close(theirs, ours, 80)


def test_scaled_gradients():
    ours, plain = (parameters(shapes=[(9,), (4, 2)]) for _ in range(2))
    optimizer = optim.with_clipping(optim.AdamW(ours, lr=0.1), 0.5)
    reference = optim.with_clipping(optim.AdamW(plain, lr=0.1), 0.5)
    for _ in scaled_steps(optimizer, reference):
        torch.testing.assert_close(optimizer.last_grad_norm, reference.last_grad_norm)
    assert_close(plain, ours, 4)


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_norms_that_are_not_finite(value):
    def steps(module, make):
        (param,) = parameters(shapes=[(9,)])
        set_gradients([param], 0)
        param.grad[0] = value
        make(module, param).step()
        return param.detach()

    def clipped(module, param):
        optimizer = module.SGD([param], lr=0.1)
        if module is torch.optim:
            torch.nn.utils.clip_grad_norm_([param], 1.0)
            return optimizer
        return optim.with_clipping(optimizer, 1.0)

    theirs, ours = (steps(module, clipped) for module in (torch.optim, optim))
    assert theirs.equal(ours) or (theirs.isnan() == ours.isnan()).all()

    (param,) = parameters(shapes=[(9,)])
    param.grad = torch.full((9,), value)
    before = param.detach().clone()
    with pytest.raises(RuntimeError) as expected:
        torch.nn.utils.clip_grad_norm_([param], 1.0, error_if_nonfinite=True)
    optimizer = optim.with_clipping(optim.SGD([param]), 1.0, error_if_nonfinite=True)
    with pytest.raises(RuntimeError) as error:
        optimizer.step()
    assert str(error.value) == str(expected.value)
    assert param.equal(before)


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_copies(duplicate):
    params = parameters(shapes=[(9,), (4, 2)])
    optimizer = optim.with_clipping(optim.AdamW(params, lr=0.1), 0.5)
    assert copy_in_training(optimizer, duplicate).max_grad_norm == 0.5


def test_invalid_arguments_are_refused():
    params = parameters(shapes=[(20, 4)])
    with pytest.raises(updraft.InvalidArgumentError, match=r"^Invalid max_norm: -1\.0$"):
        optim.with_clipping(optim.SGD(params), -1.0)
    for value in (None, "1"):
        message = f"expected a number for `max_norm`, got {value!r}"
        with pytest.raises(TypeError) as error:
            optim.with_clipping(optim.SGD(params), value)
        assert str(error.value) == message
    with pytest.raises(TypeError) as error:
        optim.with_clipping(torch.optim.SGD(params), 1.0)
    assert str(error.value) == (
        "expected an optimizer of `updraft.optim` or `updraft.optimizer`, got torch.optim.sgd.SGD"
    )
    optimizer = optim.with_clipping(optim.SGD(params), 1.0)
    with pytest.raises(TypeError) as error:
        optim.convert(optimizer)
    assert str(error.value) == (
        "`SGD` clips gradients, but torch's class does not; set its `max_grad_norm` to None first"
    )
    params[0].grad = torch.sparse_coo_tensor([[1, 5]], torch.ones(2, 4), (20, 4))
    with pytest.raises(RuntimeError) as error:
        optimizer.step()
    assert str(error.value) == "clipping by the norm does not support sparse gradients"
