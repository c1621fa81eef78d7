"""Workers that do not answer in time, or are gone."""

import os
import time

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import backward, gradients, parameters

from updraft.distributed.optim import DistributedOptimizer, Options
from updraft.optim.adapter import StorageLocks

_held = []


def hold_locks(rref, seconds):
    """Lets no step at a parameter for a while."""
    locks = StorageLocks([rref.local_value()])
    locks.lock()
    time.sleep(seconds)
    locks.unlock()


@on_client
def test_a_step_that_was_late_is_not_done_twice():
    rrefs = [*parameters("worker1", (3,)), *parameters("worker2", (4,))]
    before = [rref.to_here().clone() for rref in rrefs]
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0, options=Options(timeout=1.0))
    with dist_autograd.context() as context:
        backward(context, rrefs)
        held = gradients(context, rrefs)
        locked = rpc.rpc_async("worker1", hold_locks, args=(rrefs[0], 3.0))
        time.sleep(0.5)
        with pytest.raises(RuntimeError) as caught:
            optimizer.step(context)
        text = str(caught.value)
        assert text.startswith("it is not known whether there was a step on `worker1`: "), text
        assert text.endswith("; what was asked for is done on `worker2`"), text
        locked.wait()
        optimizer.step(context)
    for rref, start, grad in zip(rrefs, before, held, strict=True):
        assert torch.equal(rref.to_here(), start - grad)


def end():
    os._exit(1)


@on_client
def test_a_worker_that_is_gone_is_named_and_the_others_step():
    rrefs = [*parameters("worker1", (3,)), *parameters("worker2", (4,))]
    before = rrefs[1].to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0, options=Options(timeout=5.0))
    with dist_autograd.context() as context:
        backward(context, rrefs)
        held = gradients(context, rrefs)[1]
        rpc.rpc_async("worker1", end)
        time.sleep(1)
        with pytest.raises(RuntimeError) as caught:
            optimizer.step(context)
        text = str(caught.value)
        assert text.startswith("it is not known whether there was a step on `worker1`: "), text
        assert text.endswith("; what was asked for is done on `worker2`"), text
        assert torch.equal(rrefs[1].to_here(), before - held)
    with pytest.raises(RuntimeError, match="`worker1`"):
        DistributedOptimizer(torch.optim.SGD, rrefs, options=Options(timeout=5.0))
