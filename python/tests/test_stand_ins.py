"""Parameters that a compiled step can't use directly: with gaps, with another memory order, of
subclasses that intercept operators, or that will be swapped.
"""

import copy

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

import updraft
from updraft import optim
from updraft.optim.adapter import GroupStepper

from .test_against_torch import CASES
from .torch_training import (
    assert_close,
    assert_same_states,
    create,
    parameters,
    set_gradients,
    step_alike,
    transposed,
)

STEPS = 30
BY_ROWS = [case for case in CASES if case.optimizer is torch.optim.Adafactor]
BY_ELEMENT = [case for case in CASES if case not in BY_ROWS and not case.options.get("maximize")]


def with_gaps(dtype=torch.float32):
    """With parameters without gaps beside them."""
    whole = parameters(dtype, [(4, 16), (9, 8), (7,), (6,)])
    views = [whole[0][:, ::2], whole[1][::3], whole[3][::2]]
    return [*(view.detach().requires_grad_() for view in views), whole[2]]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gaps(case):
    theirs, ours = with_gaps(), with_gaps()
    reference, optimizer = create(torch.optim, case, theirs), create(optim, case, ours)
    for step in range(STEPS):
        for params in (theirs, ours):
            set_gradients(params, step, absent={0} if step % 7 == 3 else ())
        reference.step()
        optimizer.step()
        if step == 15:
            optimizer.load_state_dict(copy.deepcopy(reference.state_dict()))
    assert_close(theirs, ours)
    assert_same_states(reference, optimizer)


def test_memory_between_elements_does_not_change():
    whole = torch.ones(4, 8)
    param = whole[:, ::2].requires_grad_()
    optimizer = optim.AdamW([param], lr=0.1)
    for _ in range(3):
        param.grad = torch.ones(4, 4)
        optimizer.step()
    assert (whole[:, 1::2] == 1).all()
    assert (whole[:, ::2] != 1).all()


@pytest.mark.parametrize("case", BY_ROWS, ids=str)
def test_rows_and_columns_of_memory_in_any_order(case):
    def make():
        params = transposed(parameters(shapes=[(41, 29), (5, 9)]))
        image = parameters(shapes=[(4, 3, 5, 2)])[0].detach()
        return [*params, image.contiguous(memory_format=torch.channels_last).requires_grad_()]

    theirs, ours = make(), make()
    reference, optimizer = create(torch.optim, case, theirs), create(optim, case, ours)
    step_alike((reference, optimizer), STEPS)
    assert_close(theirs, ours)
    assert_same_states(reference, optimizer)
    assert [param.stride() for param in theirs] == [param.stride() for param in ours]


def test_states_in_blocks_of_memory_in_any_order():
    def make(layout):
        (param,) = parameters(shapes=[(40, 3, 5, 2)])
        return param.detach().contiguous(memory_format=layout).requires_grad_()

    params = make(torch.contiguous_format), make(torch.channels_last)
    storage = {"exp_avg": "q8_linear", "exp_avg_sq": "q8_companded"}
    optimizers = [updraft.optimizer("AdamW", [param], storage=storage) for param in params]
    for step in range(3):
        for param, optimizer in zip(params, optimizers, strict=True):
            set_gradients([param], step)
            optimizer.step()
            # From the states' optimizer to the one that loads them.
            optimizer.load_state_dict(optimizer.state_dict())
    assert torch.equal(*params)


def test_expanded_parameters_are_refused_as_in_torch():
    for module in (torch.optim, optim):
        param = torch.ones(3, 1).expand(3, 4).detach().requires_grad_()
        param.grad = torch.ones(3, 4)
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            module.SGD([param], lr=0.1, **({} if module is optim else {"foreach": False})).step()


def test_a_norm_of_the_group_counts_those_with_gaps():
    chain = updraft.chain(updraft.transforms.clip_by_global_norm(max_norm=1.0), "SGD")
    params = with_gaps()
    before = [param.detach().clone() for param in params]
    for param in params:
        param.grad = torch.ones_like(param)
    updraft.optimizer(chain, params, lr=1.0).step()
    moved = sum((b - p.detach()).square().sum() for b, p in zip(before, params, strict=True))
    assert moved.item() == pytest.approx(1.0, rel=1e-4)


def two_tensors():
    return [torch.nn.Parameter(TwoTensor(p.detach(), p.detach() * 2)) for p in parameters()]


@pytest.mark.parametrize("case", BY_ELEMENT, ids=str)
def test_wrapper_subclasses(case):
    """Each operation runs on both tensors, so each tensor is stepped as if alone."""
    ours = two_tensors()
    theirs = parameters(), [torch.nn.Parameter(p.detach() * 2) for p in parameters()]
    references = [create(torch.optim, case, params) for params in theirs]
    optimizer = create(optim, case, ours)
    for step in range(10):
        for params in theirs:
            set_gradients(params, step)
        for param, one, two in zip(ours, *theirs, strict=True):
            param.grad = TwoTensor(one.grad.clone(), two.grad.clone())
        for each in (*references, optimizer):
            each.step()
        if step == 0:
            kept = [dict(state) for state in optimizer.state.values()]
    assert_close(theirs[0], [param.a for param in ours], 100)
    assert_close(theirs[1], [param.b for param in ours], 100)
    for state, before in zip(optimizer.state.values(), kept, strict=True):
        assert list(state) == list(before)
        assert all(value is before[name] for name, value in state.items())


@pytest.mark.parametrize("what", ["parameter", "gradient", "state"])
def test_the_operator_refuses_wrapper_subclasses(what):
    """A compiled step cannot write to a tensor that has no memory of its own."""
    values = torch.ones(3)
    wrapper = TwoTensor(values.clone(), values.clone())
    rule = updraft.load("SGD").compile(defaults={"momentum": 0.9})
    hypers = [*rule.hypers.values()]
    with pytest.raises(TypeError) as caught:
        param = wrapper if what == "parameter" else torch.nn.Parameter(values.clone())
        as_usual = "", "", False, ["0"], False, torch.float32
        stepper = GroupStepper(rule._compiled.address, [param], hypers, *as_usual)
        if what == "state":
            stepper.bind_state(0, "momentum_buffer", wrapper)
        param.grad = wrapper
        stepper.prepare()
    assert str(caught.value).splitlines()[0] == (
        f"a {what} is a wrapper subclass of Tensor, whose memory is not its own"
    )
    if what != "parameter":
        assert param.equal(values)


def swapped(optimizer, params):
    """Replaces every parameter, like `Module.to` with torch's flag."""
    for param in params:
        torch.utils.swap_tensors(param, torch.nn.Parameter(param.detach().clone() + 1))


@pytest.mark.parametrize("name", ["AdamW", "SGD", "Adafactor", "Muon"])
def test_swapping_with_the_flag(name):
    shapes = [(5, 3), (4, 6)] if name == "Muon" else [(5, 3), (7,)]
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        theirs, ours = parameters(shapes=shapes), parameters(shapes=shapes)
        reference = getattr(torch.optim, name)(theirs, lr=0.1)
        optimizer = getattr(optim, name)(ours, lr=0.1)
        for step in range(6):
            for params, each in ((theirs, reference), (ours, optimizer)):
                if step == 3:
                    for param in params:
                        param.grad = None
                    swapped(each, params)
                set_gradients(params, step)
                each.step()
        assert_close(theirs, ours, 6)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def test_swapping_by_a_module_with_the_flag():
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        module = torch.nn.Linear(4, 3)
        optimizer = optim.SGD(module.parameters(), lr=0.1)
        for dtype in (torch.float32, torch.float64, torch.float64):
            optimizer.zero_grad()
            module.to(dtype)
            module(torch.ones(2, 4, dtype=dtype)).sum().backward()
            before = module.bias.detach().clone()
            optimizer.step()
            assert torch.allclose(module.bias, before - 0.2)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


def test_swapping_without_the_flag():
    (param,) = parameters(shapes=[(5, 3)])
    optimizer = optim.AdamW([param], lr=0.1)
    set_gradients([param], 0)
    optimizer.step()
    param.grad = None
    with pytest.raises(RuntimeError, match=r"use_count|weakrefs"):
        swapped(optimizer, [param])
    optimizer.release()
    swapped(optimizer, [param])
    set_gradients([param], 1)
    before = param.detach().clone()
    optimizer.step()
    assert not param.equal(before)
    assert optimizer.state[param]["step"] == 2


def test_versions_tell_autograd_of_the_change():
    whole = torch.ones(4, 8)
    param = whole[:, ::2].requires_grad_()
    param.grad = torch.ones(4, 4)
    before = param._version
    optim.AdamW([param]).step()
    assert param._version > before
