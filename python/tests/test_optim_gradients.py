"""Gradients of a step: dense, sparse, scaled, and with other shapes."""

import copy

import pytest
import torch

from updraft import optim

from .test_against_torch import CASES
from .torch_training import assert_close, create, parameters, scaled_steps, set_gradients


def test_gradients_are_only_read():
    (param,) = parameters(shapes=[(5, 3)])
    param.grad = torch.randn(5, 3)
    grad, copied = param.grad, param.grad.clone()
    optim.SGD([param], lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1).step()
    assert param.grad is grad
    assert grad.equal(copied)
    assert grad._version == 0


def test_gradients_of_other_shapes_are_refused():
    params = parameters(shapes=[(3,)] * 1000)
    optimizer = optim.AdamW(params)
    set_gradients(params, 0)
    optimizer.step()
    before = [param.detach().clone() for param in params]
    params[900].grad.resize_(4)
    with pytest.raises(ValueError, match=r"gradient of parameter `900` is \[4\]"):
        optimizer.step()
    assert all(param.equal(value) for param, value in zip(params, before, strict=True))
    params[900].grad.resize_(3)
    optimizer.step()
    assert not params[900].equal(before[900])


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD", "Adagrad"])
def test_scaled_gradients(name):
    """A scaler's step equals the unscaled one, or is skipped if a gradient isn't finite."""
    ours, plain = (parameters(shapes=[(9,), (4, 2)]) for _ in range(2))
    make = getattr(optim, name)
    assert len(list(scaled_steps(make(ours, lr=0.1), make(plain, lr=0.1)))) == 3
    assert_close(plain, ours, 4)


@pytest.mark.parametrize("name", ["SGD", "Adagrad"])
def test_sparse_gradients(name):
    def steps(module):
        (table,) = parameters(shapes=[(20, 4)])
        optimizer = getattr(module, name)([table], lr=0.1)
        for step in range(4):
            generator = torch.Generator().manual_seed(step)
            rows = torch.randint(20, (1, 7), generator=generator)
            values = torch.randn(7, 4, generator=generator)
            table.grad = torch.sparse_coo_tensor(rows, values, (20, 4))
            optimizer.step()
        return [table]

    assert_close(steps(torch.optim), steps(optim), 4)


@pytest.mark.parametrize("options", [{}, {"lr": 0.05, "betas": (0.8, 0.99), "maximize": True}])
def test_sparse_adam(options):
    tables = [parameters(shapes=[(20, 4), (9,)]) for _ in range(2)]
    optimizers = [
        module.SparseAdam(params, **options)
        for module, params in zip((torch.optim, optim), tables, strict=True)
    ]
    for step in range(8):
        if step == 4:  # each continues from the states of the other
            saved = [copy.deepcopy(optimizer.state_dict()) for optimizer in optimizers]
            for optimizer, other in zip(optimizers, reversed(saved), strict=True):
                optimizer.load_state_dict(other)
        for params in tables:
            generator = torch.Generator().manual_seed(step)
            for param in params:
                rows = torch.randint(len(param), (1, 7), generator=generator)
                values = torch.randn(7, *param.shape[1:], generator=generator)
                param.grad = torch.sparse_coo_tensor(rows, values, param.shape)
        for optimizer in optimizers:
            optimizer.step()
    assert_close(*tables, 8)
    for theirs, ours in zip(*(o.state_dict()["state"].values() for o in optimizers), strict=True):
        assert list(theirs) == list(ours)
        assert type(ours["step"]) is int
        assert ours["step"] == 8
    tables[1][0].grad = torch.ones(20, 4)
    with pytest.raises(RuntimeError) as error:
        optimizers[1].step()
    assert str(error.value) == (
        "SparseAdam does not support dense gradients, please consider Adam instead"
    )


@pytest.mark.parametrize("case", [c for c in CASES if not c.options], ids=str)
def test_sparse_gradients_are_refused_as_in_torch(case):
    if case.optimizer in (torch.optim.SGD, torch.optim.Adagrad):
        return
    messages = []
    for module in (torch.optim, optim):
        (table,) = parameters(shapes=[(20, 4)])
        optimizer = create(module, case, [table])
        table.grad = torch.sparse_coo_tensor([[1, 5]], torch.ones(2, 4), (20, 4))
        with pytest.raises(RuntimeError) as error:
            optimizer.step()
        messages.append(str(error.value))
    assert messages[0] == messages[1]
