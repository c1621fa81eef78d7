"""Changes between steps: parameters and their memory, groups, states, step counts."""

import collections
import copy
import math

import pytest
import torch

from updraft import optim

from .torch_training import assert_close, assert_same_states, parameters, set_gradients


def test_versions_tell_autograd_of_the_change():
    (param,) = parameters(shapes=[(3,)])
    optimizer = optim.AdamW([param])
    squared = param.square().sum()
    param.grad = torch.ones(3)
    before = param._version
    optimizer.step()
    assert param._version > before
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squared.backward()
    average = optimizer.state[param]["exp_avg"]
    assert optimizer.state[param]["step"].item() == 1
    optimizer.step()
    assert optimizer.state[param]["exp_avg"] is average


def test_added_groups_and_flags_that_change():
    theirs, ours = (parameters(shapes=[(9,), (4, 2)]) for _ in range(2))
    optimizers = [
        module.AdamW([params[0]], lr=0.1)
        for module, params in ((torch.optim, theirs), (optim, ours))
    ]
    for step in range(6):
        for params in (theirs, ours):
            set_gradients(params, step)
        for optimizer, params in zip(optimizers, (theirs, ours), strict=True):
            if step == 2:
                optimizer.add_param_group({"params": [params[1]], "lr": 0.01})
            if step == 4:
                optimizer.param_groups[0]["maximize"] = True
                optimizer.param_groups[1]["betas"] = (0.5, 0.9)
            optimizer.step()
    assert_close(theirs, ours, 6)


def test_states_that_are_changed_from_outside():
    theirs, ours = (parameters(shapes=[(9,)]) for _ in range(2))
    optimizers = torch.optim.AdamW(theirs, foreach=False), optim.AdamW(ours)
    for step in range(8):
        for params in (theirs, ours):
            set_gradients(params, step)
        for optimizer in optimizers:
            (state,) = optimizer.state.values() if step else ({},)
            if step == 2:
                state["exp_avg"].zero_()
            if step == 3:
                state["exp_avg_sq"] = torch.full((9,), 0.5)
            if step == 4:
                state["step"].fill_(40)
            if step == 5:
                optimizer.state.clear()
            optimizer.step()
    assert_close(theirs, ours, 8)


@pytest.mark.parametrize("assign", ["setdefault", "__ior__", "__setitem__", "update", "state"])
def test_states_are_noticed_however_they_are_given(assign):
    (param,) = parameters(shapes=[(9,)])
    optimizer = optim.SGD([param], lr=0.5, momentum=0.5)
    given = {"momentum_buffer": torch.ones(9)}
    if assign in ("setdefault", "__setitem__"):
        getattr(optimizer.state, assign)(param, given)
    elif assign == "state":
        optimizer.state = {param: given}
    else:
        getattr(optimizer.state, assign)({param: given})
    before = param.detach().clone()
    param.grad = torch.zeros(9)
    optimizer.step()
    assert torch.allclose(param, before - 0.25)
    optimizer.state[param]["momentum_buffer"] = torch.zeros(9)
    optimizer.step()
    assert torch.allclose(param, before - 0.25)


def test_states_that_are_assigned_whole():
    """During training, with the same states for torch's optimizer; also no states."""
    theirs, ours = (parameters(shapes=[(9,), (4, 2)]) for _ in range(2))
    optimizers = torch.optim.AdamW(theirs, foreach=False), optim.AdamW(ours)
    for step in range(8):
        for params, optimizer in zip((theirs, ours), optimizers, strict=True):
            if step in (2, 6):
                optimizer.state = collections.defaultdict(dict)
            if step == 4:
                optimizer.state = {
                    param: {name: value.clone() + 1 for name, value in state.items()}
                    for param, state in optimizer.state.items()
                }
            set_gradients(params, step)
            optimizer.step()
    assert_close(theirs, ours, 8)
    assert_same_states(*optimizers)


def test_memory_that_is_replaced():
    theirs, ours = (parameters(shapes=[(9,)]) for _ in range(2))
    optimizers = torch.optim.AdamW(theirs, foreach=False), optim.AdamW(ours)
    for step in range(4):
        for (param,), optimizer in zip((theirs, ours), optimizers, strict=True):
            if step == 2:
                param.data = torch.ones(9)
            set_gradients([param], step)
            optimizer.step()
    assert_close(theirs, ours, 4)


def test_memory_of_another_order():
    """The same memory with other strides."""
    theirs, ours = (parameters(shapes=[(3, 3)]) for _ in range(2))
    optimizers = torch.optim.SGD(theirs, lr=0.1, foreach=False), optim.SGD(ours, lr=0.1)
    for step in range(4):
        for (param,), optimizer in zip((theirs, ours), optimizers, strict=True):
            if step == 2:
                param.data = param.data.t()
            set_gradients([param], step)
            optimizer.step()
    assert_close(theirs, ours, 4)


def test_memory_that_is_freed_and_taken_again():
    """As in sharded training between steps."""
    theirs, ours = (parameters(shapes=[(9,)]) for _ in range(2))
    optimizers = torch.optim.AdamW(theirs, foreach=False), optim.AdamW(ours)
    for step in range(4):
        for (param,), optimizer in zip((theirs, ours), optimizers, strict=True):
            if step == 2:
                values, storage = param.detach().clone(), param.untyped_storage()
                size = storage.nbytes()
                storage.resize_(0)
                kept = [torch.zeros(9) for _ in range(8)]
                storage.resize_(size)
                param.data.copy_(values)
                del kept
            set_gradients([param], step)
            optimizer.step()
    assert_close(theirs, ours, 4)


def test_an_equal_parameter_in_place_of_another():
    old, new = (torch.nn.Parameter(torch.ones(1)) for _ in range(2))
    optimizer = optim.SGD([old], lr=0.0)
    old.grad = torch.ones(1)
    optimizer.step()
    optimizer.param_groups[0].update(params=[new], lr=1.0)
    new.grad = torch.ones(1)
    optimizer.step()
    assert old == 1 and new == 0


def test_a_step_count_that_is_a_number():
    """Checkpoints of older versions of torch have numbers."""
    (param,) = parameters(shapes=[(9,)])
    optimizer = optim.AdamW([param])
    set_gradients([param], 0)
    optimizer.step()
    saved = optimizer.state_dict()
    saved["state"][0]["step"] = 7
    optimizer.load_state_dict(saved)
    optimizer.step()
    assert optimizer.state[param]["step"].item() == 8


def test_step_counts_in_f64():
    """torch creates them if f64 is its default type."""
    theirs, ours = (parameters(shapes=[(3, 3)]) for _ in range(2))
    reference, optimizer = torch.optim.AdamW(theirs, foreach=False), optim.AdamW(ours)
    for step in range(6):
        if step == 2:
            state = copy.deepcopy(reference.state_dict())
            state["state"][0]["step"] = state["state"][0]["step"].double()
            optimizer.load_state_dict(state)
        if step == 4:
            for each in (reference, optimizer):
                each.state_dict()["state"][0]["step"].fill_(40)
        for params, each in ((theirs, reference), (ours, optimizer)):
            set_gradients(params, step)
            each.step()
    assert optimizer.state[ours[0]]["step"].dtype == torch.float64
    assert optimizer.state[ours[0]]["step"] == 42
    assert_close(theirs, ours, 8)


def test_an_invalid_step_count_is_refused():
    param = torch.nn.Parameter(torch.ones(1))
    optimizer = optim.AdamW([param])
    param.grad = torch.ones(1)
    optimizer.step()
    for count in (math.inf, math.nan, 1.5, -1.0):
        optimizer.state[param]["step"].fill_(count)
        with pytest.raises(ValueError, match=r"the step count of parameter 0 is .*; it is a whole"):
            optimizer.step()
