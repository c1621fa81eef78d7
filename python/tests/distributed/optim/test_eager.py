"""Classes that have no compiled rule."""

import warnings

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import attributes, backward, gradients, in_threads, parameters, set_grad

from updraft.distributed.optim import DistributedOptimizer, Options


class Halving(torch.optim.Optimizer):
    """Writes gradients, as nobody should."""

    def __init__(self, params, lr=0.5):
        if lr < 0:
            raise ValueError(f"Invalid lr: {lr}")
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param -= param.grad.mul_(group["lr"])


def quietly(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DistributedOptimizer(*args, **kwargs)


@on_client
def test_steps_with_a_warning():
    rrefs = parameters("worker1", (3,), (4,))
    before = [rref.to_here().clone() for rref in rrefs]
    with pytest.warns(UserWarning) as caught:
        optimizer = DistributedOptimizer(Halving, rrefs)
    texts = [str(warning.message) for warning in caught]
    assert texts == [
        "there is no compiled step for test_eager.Halving; `updraft.optimizer` makes one of a "
        "rule: steps of Halving run in Python on the workers, and wait for its lock; "
        "`Options(strict=True)` makes this an error"
    ], texts
    assert not optimizer.is_functional_optim
    mine = torch.full((3,), 7.0)
    rpc.rpc_sync("worker1", set_grad, args=(rrefs[0], mine))
    with dist_autograd.context() as context:
        backward(context, rrefs[:1])
        held = gradients(context, rrefs[:1])[0]
        optimizer.param_groups[0]["lr"] = 0.25
        optimizer.step(context)
        assert torch.equal(gradients(context, rrefs[:1])[0], held)
        with pytest.raises(RuntimeError, match="are applied already"):
            optimizer.step(context)
    assert torch.equal(rrefs[0].to_here(), before[0] - held * 0.25)
    assert torch.equal(rrefs[1].to_here(), before[1])
    assert torch.equal(rpc.rpc_sync("worker1", attributes, args=(rrefs[0],))[0], mine)


@on_client
def test_strict():
    with pytest.raises(TypeError) as caught:
        DistributedOptimizer(Halving, parameters("worker1", (3,)), options=Options(strict=True))
    text = str(caught.value)
    expected = (
        "there is no compiled step for test_eager.Halving; `updraft.optimizer` makes one of a rule"
    )
    assert text == expected, text


@on_client
def test_no_update_is_lost_beside_compiled_steps():
    rrefs = parameters("worker1", (20_000,))
    before = rrefs[0].to_here().clone()
    optimizers = [quietly(Halving, rrefs, lr=2.0**-4), DistributedOptimizer("SGD", rrefs, lr=2**-4)]
    count = 20

    def train(number):
        for _ in range(count):
            with dist_autograd.context() as context:
                backward(context, rrefs, of=ones)
                optimizers[number % 2].step(context)

    errors = in_threads(4, train)
    assert not errors, errors[0]
    moved = before - rrefs[0].to_here()
    torch.testing.assert_close(moved, torch.full_like(moved, 4 * count * 2**-4), rtol=0, atol=1e-4)


def ones(rrefs, factor):
    return sum(rref.local_value().sum() for rref in rrefs) * factor


@on_client
def test_muon_steps_as_it_does_here():
    import updraft.optim

    rrefs = parameters("worker1", (4, 6))
    param = torch.nn.Parameter(rrefs[0].to_here().clone())
    optimizer = quietly(updraft.optim.Muon, rrefs)
    local = updraft.optim.Muon([param])
    for _ in range(2):
        with dist_autograd.context() as context:
            backward(context, rrefs)
            param.grad = gradients(context, rrefs)[0]
            optimizer.step(context)
        local.step()
    assert torch.equal(rrefs[0].to_here(), param)
