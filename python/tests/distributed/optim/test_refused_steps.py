"""Steps that a worker refuses because of one parameter write nothing and don't count."""

import contextlib

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import backward, gradient, move, ones, parameters

from updraft.distributed.optim import DistributedOptimizer


class OwnMemory(torch.autograd.Function):
    """Makes a parameter's own memory its gradient."""

    @staticmethod
    def forward(ctx, param):
        ctx.param = param
        return param.sum()

    @staticmethod
    def backward(ctx, _):
        return ctx.param.detach()


def of_own_memory(rrefs, factor):
    """A loss with such a gradient for the last parameter, and 1 for each element of the others."""
    *others, last = [rref.local_value() for rref in rrefs]
    return (sum(param.sum() for param in others).float() + OwnMemory.apply(last).float()) * factor


class OtherMemory(torch.autograd.Function):
    """Makes another parameter's memory the gradient, dense or of some rows."""

    @staticmethod
    def forward(ctx, param, other, rows):
        ctx.shape, ctx.other, ctx.rows = param.shape, other.detach(), rows
        ctx.dtype = param.dtype
        return param.sum()

    @staticmethod
    def backward(ctx, _):
        memory = ctx.other.view(ctx.dtype)
        if ctx.rows is None:
            return memory[: ctx.shape.numel()].view(ctx.shape), None, None
        width = ctx.shape[1]
        values = memory[: len(ctx.rows) * width].view(-1, width)
        return torch.sparse_coo_tensor([ctx.rows], values, ctx.shape), None, None


def of_memory_of_the_first(rrefs, factor, rows=None):
    """A loss with such a gradient for the last parameter, and 1 for each element of the others."""
    *others, last = [rref.local_value() for rref in rrefs]
    total = OtherMemory.apply(last, others[0], rows).float()
    return (sum(param.sum() for param in others).float() + total) * factor


def of_rows_of_the_first(rrefs, factor):
    return of_memory_of_the_first(rrefs, factor, [0, 3])


def mark_as_coalesced(context, rref):
    """Otherwise a step would read a copy of the rows."""
    gradient(context, rref)._coalesced_(True)


def apart(rrefs):
    """One group per parameter."""
    return [{"params": [rref]} for rref in rrefs]


REFUSAL = (
    "nothing was stepped on `worker1`: gradient of parameter `1` overlaps parameter `{}`; a step "
    "only reads gradients, so give it memory of its own"
)


@contextlib.contextmanager
def refused(optimizer, rrefs, of=of_own_memory, owner=1):
    """A context whose steps were refused and wrote nothing."""
    before = [rref.to_here().clone() for rref in rrefs]
    with dist_autograd.context() as context:
        backward(context, rrefs, of=of)
        for _ in range(2):
            with pytest.raises(ValueError) as caught:
                optimizer.step(context)
            assert str(caught.value) == REFUSAL.format(owner), caught.value
            for rref, start in zip(rrefs, before, strict=True):
                assert torch.equal(rref.to_here(), start)
        yield context


def step_elsewhere(optimizer, context, rref):
    """Moves the parameter away from the gradient, and steps."""
    rpc.rpc_sync(rref.owner(), move, args=(rref,))
    # A new optimizer knows the contexts that the old one has applied.
    optimizer.load_state_dict(optimizer.state_dict())
    optimizer.step(context)


@on_client
def test_in_two_groups():
    rrefs = parameters("worker1", (3,), (4,))
    start = rrefs[0].to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, apart(rrefs), lr=1.0)
    with refused(optimizer, rrefs) as context:
        step_elsewhere(optimizer, context, rrefs[1])
        with pytest.raises(RuntimeError, match="were already applied; step once in each context"):
            optimizer.step(context)
    assert torch.equal(rrefs[0].to_here(), start - 1)
    assert torch.equal(rrefs[1].to_here(), torch.zeros(4))


@on_client
def test_in_two_dtypes():
    rrefs = [*parameters("worker1", (3,)), *parameters("worker1", (4,), dtype=torch.float64)]
    start = rrefs[0].to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0)
    with refused(optimizer, rrefs) as context:
        step_elsewhere(optimizer, context, rrefs[1])
    assert torch.equal(rrefs[0].to_here(), start - 1)
    assert torch.equal(rrefs[1].to_here(), torch.zeros(4, dtype=torch.float64))


@on_client
def test_no_states_are_made():
    rrefs = parameters("worker1", (3,), (4,))
    local = torch.nn.Parameter(rrefs[0].to_here().clone())
    here = torch.optim.AdamW([local], lr=0.1)
    optimizer = DistributedOptimizer(torch.optim.AdamW, apart(rrefs), lr=0.1)
    with refused(optimizer, rrefs):
        assert optimizer.state_dict()["state"] == {}
    for _ in range(2):
        with dist_autograd.context() as context:
            backward(context, rrefs[:1], of=ones)
            optimizer.step(context)
        local.grad = torch.ones(3)
        here.step()
    assert optimizer.state_dict()["state"].keys() == {0}
    torch.testing.assert_close(rrefs[0].to_here(), local)


@on_client
def test_gradients_in_memory_of_another_group():
    rrefs = parameters("worker1", (6,), (4,))
    start = rrefs[0].to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, apart(rrefs), lr=1.0)
    with refused(optimizer, rrefs, of_memory_of_the_first, owner=0) as context:
        step_elsewhere(optimizer, context, rrefs[0])
    assert torch.equal(rrefs[0].to_here(), start - 1)


@on_client
def test_gradients_in_memory_of_another_dtype():
    rrefs = [*parameters("worker1", (8,)), *parameters("worker1", (4,), dtype=torch.float64)]
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0)
    with refused(optimizer, rrefs, of_memory_of_the_first, owner=0):
        pass


@on_client
def test_rows_of_memory_of_another_group():
    rrefs = parameters("worker1", (6,), (4, 3))
    start = rrefs[0].to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, apart(rrefs), lr=1.0)
    with dist_autograd.context() as context:
        backward(context, rrefs, of=of_rows_of_the_first)
        rpc.rpc_sync("worker1", mark_as_coalesced, args=(context, rrefs[1]))
        with pytest.raises(ValueError) as caught:
            optimizer.step(context)
    assert str(caught.value) == REFUSAL.format(0), caught.value
    assert torch.equal(rrefs[0].to_here(), start)
