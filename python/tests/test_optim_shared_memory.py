"""Parameters of a group that share memory, which torch steps one after another."""

import pytest
import torch

import updraft
from updraft import optim
from updraft.optim import compiled
from updraft.optim.shared_memory import layers_apart

from .torch_training import assert_close, set_gradients

NAMES = ["SGD", "RMSprop", "Adagrad", "Adam", "AdamW", "ASGD", "Rprop"]


def tied(start):
    """Two parameters with the same memory, one with part of it, and a separate one."""
    memory = torch.linspace(-1, 1, 12, dtype=start).reshape(4, 3)
    return [
        torch.nn.Parameter(memory),
        torch.nn.Parameter(torch.ones(5, dtype=start)),
        torch.nn.Parameter(memory.view(12)),
        torch.nn.Parameter(memory[1:3]),
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_are_those_of_torch(name, dtype):
    theirs, ours = tied(dtype), tied(dtype)
    optimizers = torch.optim, optim
    optimizers = [
        getattr(module, name)(params, lr=0.01)
        for module, params in zip(optimizers, (theirs, ours), strict=True)
    ]
    for step in range(10):
        for params, optimizer in zip((theirs, ours), optimizers, strict=True):
            set_gradients(params, step)
            optimizer.step()
    assert_close(theirs, ours, 20)
    assert ours[0].data_ptr() == ours[2].data_ptr()


def test_tied_modules():
    losses = []
    for module in (torch.optim, optim):
        torch.manual_seed(0)
        encoder, decoder = torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 4, bias=False)
        decoder.weight.data = encoder.weight.data
        optimizer = module.AdamW([*encoder.parameters(), *decoder.parameters()], lr=0.05)
        inputs = torch.randn(8, 4)
        for _ in range(10):
            optimizer.zero_grad()
            loss = (decoder(encoder(inputs)) - inputs).square().mean()
            loss.backward()
            optimizer.step()
        losses.append(loss.detach())
        assert decoder.weight.data_ptr() == encoder.weight.data_ptr()
    torch.testing.assert_close(*losses)


def test_parameters_that_become_tied_between_steps():
    first, second = (torch.nn.Parameter(torch.full((3,), value)) for value in (0.0, 5.0))
    optimizer = optim.SGD([first, second], lr=0.5)
    for param in (first, second):
        param.grad = torch.ones(3)
    optimizer.step()
    second.data = first.data
    optimizer.step()
    torch.testing.assert_close(first.detach(), torch.full((3,), -1.5))


def test_layers_keep_the_order():
    memory = torch.zeros(9)
    params = [memory[:4], memory[3:6], memory[5:], memory[7:8], memory[:0], torch.zeros(2)]
    assert layers_apart(params) == [[0, 4, 5], [1], [2], [3]]


def test_the_same_tensor_twice():
    param = torch.nn.Parameter(torch.zeros(3))
    param.grad = torch.ones(3)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optimizer = optim.SGD([param, param], lr=0.1)
    with pytest.raises(ValueError) as refused:
        optimizer.step()
    assert str(refused.value) == ("parameters `0` and `1` overlap in memory; give each tensor once")
    assert not param.detach().any()


def test_other_refusals_are_raised_at_once(monkeypatch):
    monkeypatch.setattr(compiled, "layers_apart", None)
    optimizer = optim.SGD(tied(torch.float32), lr=0.1)
    del optimizer.param_groups[0]["dampening"]
    with pytest.raises(updraft.InvalidArgumentError, match=r"^cannot read the hyperparameter"):
        optimizer.step()


def test_a_rule_of_the_whole_group():
    params = tied(torch.float32)
    with pytest.raises(ValueError, match="overlap in memory; give each tensor once"):
        updraft.optimizer(
            updraft.chain(updraft.transforms.clip_by_global_norm(max_norm=1.0), "SGD"), params
        )
