"""Workers that don't answer in time, or have died."""

import os
import threading
import time
import unittest

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import (
    backward,
    ending,
    give_up_locks,
    gradients,
    hold_locks,
    ones,
    open_contexts,
    parameters,
)

from updraft import distributed
from updraft.distributed.optim import DistributedOptimizer, Options, arrivals
from updraft.distributed.optim.remote import RemoteOptimizer


def logged():
    """Collects the optimizer's log messages, and requires at least one."""
    return unittest.TestCase().assertLogs("updraft.distributed.optim", "DEBUG")


@on_client
def test_a_step_that_was_late_is_not_done_twice():
    rrefs = [*parameters("worker1", (3,)), *parameters("worker2", (4,))]
    before = [rref.to_here().clone() for rref in rrefs]
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0, options=Options(timeout=1.0))
    with dist_autograd.context() as context:
        backward(context, rrefs)
        held = gradients(context, rrefs)
        rpc.rpc_sync("worker1", hold_locks, args=(rrefs[0],))
        with pytest.raises(RuntimeError) as caught:
            optimizer.step(context)
        text = str(caught.value)
        assert text.startswith("it is unknown whether a step ran on `worker1`: "), text
        assert text.endswith("; the request succeeded on `worker2`"), text
        rpc.rpc_sync("worker1", give_up_locks)
        with logged() as logs:
            optimizer.step(context)
    assert logs.output == [
        "WARNING:updraft.distributed.optim.distributed_optimizer:"
        f"context {context} was already applied on `worker1`, `worker2`; this step has changed "
        "nothing there"
    ], logs.output
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
        with ending("worker1"), pytest.raises(RuntimeError):
            rpc.rpc_sync("worker1", end)
        with pytest.raises(RuntimeError) as caught:
            optimizer.step(context)
        text = str(caught.value)
        assert text.startswith("it is unknown whether a step ran on `worker1`: "), text
        assert text.endswith("; the request succeeded on `worker2`"), text
        assert torch.equal(rrefs[1].to_here(), before - held)
    with pytest.raises(RuntimeError, match="`worker1`"):
        DistributedOptimizer(torch.optim.SGD, rrefs, options=Options(timeout=5.0))


@on_client
def test_a_worker_that_dies_in_a_step_is_named_and_the_others_finish():
    timeout = 60.0
    rrefs = [*parameters("worker1", (3,)), *parameters("worker2", (4,))]
    before = rrefs[1].to_here().clone()
    optimizer = DistributedOptimizer(
        torch.optim.SGD, rrefs, lr=1.0, options=Options(timeout=timeout)
    )
    with dist_autograd.context() as context:
        backward(context, rrefs)
        held = gradients(context, rrefs)[1]
        rpc.rpc_sync("worker1", hold_locks, args=(rrefs[0],))
        texts = []

        def step():
            with pytest.raises(RuntimeError) as caught:
                optimizer.step(context)
            texts.append(str(caught.value))

        stepping = threading.Thread(target=step)
        begin = time.monotonic()
        stepping.start()
        # Requests from a client to a worker arrive in order, and the other's comes later.
        while torch.equal(rrefs[1].to_here(), before):
            assert time.monotonic() < begin + timeout / 2
        assert stepping.is_alive()
        rpc.rpc_async("worker1", end)
        stepping.join(timeout / 2)
        (text,) = texts
        assert text.startswith("it is unknown whether a step ran on `worker1`: "), text
        assert text.endswith("; the request succeeded on `worker2`"), text
        assert torch.equal(rrefs[1].to_here(), before - held)
        with pytest.raises(RuntimeError, match=r"^it is unknown .* `worker1`: ") as caught:
            optimizer.step(context)
        assert str(caught.value).endswith("; the request succeeded on `worker2`")
        assert torch.equal(rrefs[1].to_here(), before - held)


def die_within_contexts(rref):
    """Ends this process after it has stepped a parameter in one of its two contexts."""
    optimizer = DistributedOptimizer(torch.optim.SGD, [rref], lr=1.0)
    all_ready = threading.Barrier(3)

    def stay(steps):
        with dist_autograd.context() as context:
            backward(context, [rref], of=ones)
            if steps:
                optimizer.step(context)
            all_ready.wait(30)
            threading.Event().wait()

    for steps in (True, False):
        threading.Thread(target=stay, args=(steps,), daemon=True).start()
    all_ready.wait(30)
    os._exit(1)


def wait_for_contexts(count):
    """Waits until this many contexts are open on `worker1`."""
    end_at = time.monotonic() + 60
    while (found := rpc.rpc_sync("worker1", open_contexts)) != count:
        assert time.monotonic() < end_at, found
        time.sleep(0.1)


@on_client
def test_a_client_that_dies_within_contexts_leaves_others_exact():
    (rref,) = parameters("worker1", (3,))
    before = rref.to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, [rref], lr=1.0)
    wait_for_contexts(0)
    with dist_autograd.context() as begun_before:
        backward(begun_before, [rref], of=ones)
        # Another client of the same worker. It doesn't host anything that a third needs.
        with ending("worker2"), pytest.raises(RuntimeError):
            rpc.rpc_sync("worker2", die_within_contexts, args=(rref,))
        optimizer.step(begun_before)
    for _ in range(5):
        with dist_autograd.context() as context:
            backward(context, [rref], of=ones)
            optimizer.step(context)
    torch.testing.assert_close(rref.to_here(), before - (1 + 1 + 5), rtol=0, atol=1e-6)
    # A client closes the contexts that it opened. Those of the dead client remain.
    wait_for_contexts(2)


@on_client
def test_an_optimizer_released_before_its_creation_is_not_created():
    """A release may overtake the creation that its client has given up."""
    rrefs = parameters("worker1", (3,))
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs)
    (remote,) = optimizer.remote_optimizers
    late = RemoteOptimizer(remote.worker, -1.0, members=remote.members, rrefs=remote.rrefs)
    late.call("release").wait()
    with pytest.raises(RuntimeError) as caught:
        optimizer._execution.create(late, optimizer.param_groups, None).wait()
    text = str(caught.value).strip()
    assert text == f"RuntimeError: optimizer {late.number} was released before it was created", text
    with pytest.raises(RuntimeError, match=f"this worker has no optimizer {late.number}; "):
        late.call("states").wait()
    with pytest.raises(RuntimeError) as caught:
        optimizer._execution.create(remote, optimizer.param_groups, None).wait()
    text = str(caught.value).strip()
    assert text == f"ValueError: this worker has an optimizer {remote.number} already", text


@on_client
def test_a_late_step_is_not_repeated_by_a_replacement():
    """Loading creates new optimizers, which know the contexts that the old ones have applied."""
    rrefs = parameters("worker1", (3,))
    start = rrefs[0].to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0, options=Options(timeout=1.0))
    with dist_autograd.context() as context:
        backward(context, rrefs)
        (held,) = gradients(context, rrefs)
        rpc.rpc_sync("worker1", hold_locks, args=(rrefs[0],))
        with pytest.raises(RuntimeError, match=r"^it is unknown whether a step ran on"):
            optimizer.step(context)
        rpc.rpc_sync("worker1", give_up_locks)
        optimizer.load_state_dict(optimizer.state_dict())
        optimizer.step(context)
    assert torch.equal(rrefs[0].to_here(), start - held)


_wanted = threading.Event()


def late_parameter():
    """Created when `make_it` is called on this worker."""
    _wanted.wait()
    return torch.nn.Parameter(torch.ones(2))


def make_it():
    _wanted.set()


@on_client
def test_a_parameter_that_does_not_come_is_named():
    rrefs = [*parameters("worker1", (3,)), rpc.remote("worker1", late_parameter)]
    original = arrivals.get_rpc_timeout
    arrivals.get_rpc_timeout = lambda: 1.0
    try:
        with pytest.raises(TimeoutError) as caught:
            DistributedOptimizer(torch.optim.SGD, rrefs)
        with pytest.raises(TimeoutError) as caught_call:
            distributed.remote_sync_call(
                "linear", args=(torch.ones(1, 2), rrefs[1]), partitioner="worker1"
            )
    finally:
        arrivals.get_rpc_timeout = original
    assert str(caught_call.value) == (
        "worker `worker1`, part 0 of 1: timed out after 0.75 s waiting for argument 1 of `linear`: "
        "the call that creates it on this worker has not finished, or was never requested"
    ), caught_call.value
    text = str(caught.value)
    assert text == (
        "no optimizer was made on `worker1`: timed out after 0.75 s waiting for parameter 1: the "
        "call that creates it on this worker has not finished, or was never requested"
    ), text
    waiting = threading.Timer(0.5, lambda: rpc.rpc_sync("worker1", make_it))
    waiting.start()
    DistributedOptimizer(torch.optim.SGD, rrefs)
    waiting.join()
