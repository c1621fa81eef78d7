"""Steps within the backward pass, for each parameter as soon as its gradient exists."""

import torch
from torch.distributed.optim import _apply_optimizer_in_backward

from updraft import optim


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def train(model, optimizer=None, steps=5):
    generator = torch.Generator().manual_seed(1)
    for _ in range(steps):
        model(torch.randn(4, 6, generator=generator)).square().mean().backward()
        if optimizer is not None:
            optimizer.step()
            optimizer.zero_grad()


def reference():
    model = network()
    train(model, torch.optim.AdamW(model.parameters(), lr=0.05))
    return model


def assert_close(model, expected):
    for param, other in zip(model.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(param, other, rtol=1e-5, atol=1e-6)


def test_an_optimizer_for_each_parameter():
    model = network()
    optimizers = {param: optim.AdamW([param], lr=0.05) for param in model.parameters()}

    def step(param):
        optimizers[param].step()
        optimizers[param].zero_grad()

    for param in model.parameters():
        param.register_post_accumulate_grad_hook(step)
    train(model)
    assert all(param.grad is None for param in model.parameters())
    assert_close(model, reference())


def test_applied_by_torch():
    model = network()
    _apply_optimizer_in_backward(optim.AdamW, model.parameters(), {"lr": 0.05})
    train(model)
    assert all(param.grad is None for param in model.parameters())
    for param in model.parameters():
        (optimizer,) = param._in_backward_optimizers
        assert type(optimizer) is optim.AdamW
    assert_close(model, reference())
