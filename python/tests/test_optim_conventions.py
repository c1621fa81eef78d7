"""Undocumented conventions of `torch.optim` that programs rely on."""

import math

import pytest
import torch

from updraft import optim

from .torch_training import assert_close, assert_same_states, parameters, set_gradients


def stepped(optimizer, params, step=0):
    set_gradients(params, step)
    optimizer.step()


def test_hooks_of_state_dicts_and_their_order():
    """The same as torch's, for calls and replacements."""

    def calls(module):
        params = parameters(shapes=[(9,)])
        optimizer = module.AdamW(params)
        stepped(optimizer, params)
        called = []
        optimizer.register_state_dict_pre_hook(lambda _: called.append("before saving"))
        optimizer.register_state_dict_post_hook(lambda _, saved: called.append(sorted(saved)))
        optimizer.register_state_dict_post_hook(
            lambda _, saved: called.append("first") or saved | {"more": 1}, prepend=True
        )
        saved = optimizer.state_dict()
        assert saved["more"] == 1
        optimizer.register_load_state_dict_pre_hook(
            lambda _, given: called.append(sorted(given)) or {k: given[k] for k in given}
        )
        optimizer.register_load_state_dict_post_hook(lambda _: called.append("loaded"))
        optimizer.load_state_dict(saved)
        stepped(optimizer, params, 1)
        return called

    assert calls(optim) == calls(torch.optim)


def test_global_hooks():
    from torch.optim.optimizer import register_optimizer_step_post_hook

    params = parameters(shapes=[(9,)])
    optimizer, called = optim.SGD(params, lr=0.1), []
    handle = register_optimizer_step_post_hook(lambda mine, *_: called.append(mine))
    try:
        stepped(optimizer, params)
    finally:
        handle.remove()
    assert called == [optimizer]


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("AdamW", {"lr": 0.5, "betas": (0.5, 0.6), "eps": 1e-3, "weight_decay": 0.3}),
        ("SGD", {"lr": 0.5, "momentum": 0.5, "dampening": 0.1, "weight_decay": 0.3}),
        ("RMSprop", {"lr": 0.5, "alpha": 0.5, "momentum": 0.1}),
        ("Rprop", {"etas": (0.25, 1.5), "step_sizes": (1e-3, 1)}),
    ],
)
def test_hyperparameters_are_read_at_every_step_and_nothing_is_compiled_again(name, changes):
    options = {"momentum": 0.9, "weight_decay": 0.1} if name in ("SGD", "RMSprop") else {}
    theirs, ours = parameters(), parameters()
    reference = getattr(torch.optim, name)(theirs, foreach=False, **options)
    optimizer = getattr(optim, name)(ours, **options)
    compiled = []
    for step in range(6):
        for params, each in ((theirs, reference), (ours, optimizer)):
            if step == 3:
                each.param_groups[0].update(changes)
            stepped(each, params, step)
        compiled.append(optimizer._compiled[0])
    assert_close(theirs, ours, 6)
    assert all(entry is compiled[0] for entry in compiled)


@pytest.mark.parametrize("grads", ["channels_last", "contiguous"])
def test_channels_last(grads):
    def made():
        (param,) = parameters(shapes=[(4, 3, 5, 5)])
        return [torch.nn.Parameter(param.detach().to(memory_format=torch.channels_last))]

    theirs, ours = made(), made()
    reference, optimizer = torch.optim.AdamW(theirs, foreach=False), optim.AdamW(ours)
    for step in range(5):
        for params, each in ((theirs, reference), (ours, optimizer)):
            set_gradients(params, step)
            if grads == "channels_last":
                params[0].grad = params[0].grad.to(memory_format=torch.channels_last)
            each.step()
    assert_close(theirs, ours, 5)
    assert_same_states(reference, optimizer)
    average = optimizer.state[ours[0]]["exp_avg"]
    assert average.stride() == reference.state[theirs[0]]["exp_avg"].stride()


def test_a_parameter_elsewhere_is_stepped_too():
    here, there = (
        torch.nn.Parameter(torch.ones(3)),
        torch.nn.Parameter(torch.ones(3, device="meta")),
    )
    optimizer = optim.SGD([here, there], lr=0.1, momentum=0.9)
    here.grad = torch.ones(3)
    there.grad = torch.ones(3, device="meta")
    optimizer.step()
    torch.testing.assert_close(here.detach(), torch.full((3,), 0.9))
    assert optimizer.state[there]["momentum_buffer"].device.type == "meta"


def test_infinity_in_the_first_scaled_step():
    """torch's fused SGD then keeps an uninitialised buffer."""
    (param,) = parameters(shapes=[(9,)])
    before = param.detach().clone()
    optimizer = optim.SGD([param], lr=0.5, momentum=0.5)
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    for grad in (math.inf, 1.0, 1.0):
        param.grad = torch.full((9,), grad) * scaler.get_scale()
        scaler.scale(torch.ones(()))
        scaler.step(optimizer)
        if math.isinf(grad):
            assert param.equal(before)
            assert not optimizer.state
        scaler.update()
    assert torch.allclose(param, before - 0.5 - 0.75)


def test_the_first_epsilon_of_adafactor_is_that_of_each_dtype():
    """In torch it is that of the first dtype it sees."""
    wide = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    alone = torch.nn.Parameter(torch.ones(3, dtype=torch.float64))
    narrow = torch.nn.Parameter(torch.ones(3))
    both, reference = optim.Adafactor([narrow, wide]), torch.optim.Adafactor([alone], foreach=False)
    narrow.grad = torch.full((3,), 1e-9)
    for param in (wide, alone):
        param.grad = torch.full((3,), 1e-9, dtype=torch.float64)
    both.step()
    reference.step()
    assert torch.allclose(wide, alone, rtol=1e-14)


def test_zero_grad():
    params = parameters(shapes=[(9,)])
    optimizer = optim.AdamW(params)
    stepped(optimizer, params)
    optimizer.zero_grad(set_to_none=False)
    assert params[0].grad.equal(torch.zeros(9))
    optimizer.zero_grad()
    assert params[0].grad is None
    before = params[0].detach().clone()
    optimizer.step()
    assert params[0].equal(before)
    assert optimizer.state[params[0]]["step"] == 1


def test_parameters_that_are_frozen_and_unfrozen():
    """A parameter gets its states with its first gradient."""
    theirs, ours = parameters(shapes=[(9,), (4, 2)]), parameters(shapes=[(9,), (4, 2)])
    reference, optimizer = torch.optim.Adam(theirs, foreach=False), optim.Adam(ours)
    for step in range(6):
        for params, each in ((theirs, reference), (ours, optimizer)):
            set_gradients(params, step, absent={1} if step < 3 else ())
            each.step()
        assert len(optimizer.state_dict()["state"]) == (1 if step < 3 else 2)
    assert_close(theirs, ours, 6)
    assert_same_states(reference, optimizer)


def test_state_dict_hooks_that_return_something_else():
    optimizer = optim.SGD([torch.nn.Parameter(torch.zeros(3))])
    optimizer.register_state_dict_post_hook(lambda *_: {"packed": 1})
    assert optimizer.state_dict() == {"packed": 1}
