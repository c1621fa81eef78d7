"""Concurrent steps."""

import threading
import time

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import (
    backward,
    fill,
    give_up_locks,
    hold_locks,
    in_threads,
    loss_that_reads,
    ones,
    open_contexts,
    parameters,
    touch_and_hold,
)

from updraft.distributed.optim import DistributedOptimizer, Options

THREADS, CONTEXTS = 6, 40
HELD = 10.0  # seconds


@on_client
def test_no_update_is_lost_or_doubled():
    rrefs = parameters("worker1", (200_000,))
    for concurrency in ("checked", "hogwild"):
        rpc.rpc_sync("worker1", fill, args=(rrefs[0], 0.0))
        options = Options(concurrency=concurrency)
        # Two trainers may share parameters.
        optimizers = [
            DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0, options=options) for _ in range(2)
        ]

        def train(number, optimizers=optimizers):
            for _ in range(CONTEXTS):
                with dist_autograd.context() as context:
                    backward(context, rrefs, of=ones)
                    optimizers[number % 2].step(context)

        errors = in_threads(THREADS, train)
        assert not errors, errors[0]
        assert (rrefs[0].to_here() != -THREADS * CONTEXTS).sum() == 0


@on_client
def test_the_second_concurrent_step_of_a_context_finds_it_applied():
    rrefs = parameters("worker1", (3,))
    start = rrefs[0].to_here().clone()
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0)
    began = threading.Barrier(3)

    def step(number):
        began.wait()
        optimizer.step(context)

    with dist_autograd.context() as context:
        backward(context, rrefs, of=ones)
        rpc.rpc_sync("worker1", hold_locks, args=(rrefs[0],))

        def let_both_begin():
            began.wait()
            time.sleep(0.5)
            rpc.rpc_sync("worker1", give_up_locks)

        other = threading.Thread(target=let_both_begin)
        other.start()
        errors = in_threads(2, step)
        other.join()
    assert len(errors) == 1, errors
    assert f"the gradients of context {context} were already applied" in errors[0]
    assert torch.equal(rrefs[0].to_here(), start - 1)


@on_client
def test_backwards_that_read_what_others_step():
    rrefs = parameters("worker1", (1000,))
    for concurrency in ("checked", "hogwild"):
        rpc.rpc_sync("worker1", fill, args=(rrefs[0], 1.0))
        options = Options(concurrency=concurrency)
        # The gradient of a square differs each time, but Signum's doesn't.
        optimizer = DistributedOptimizer("Signum", rrefs, lr=2**-12, options=options)
        applied = []

        def train(number, optimizer=optimizer, applied=applied):
            done = 0
            for _ in range(CONTEXTS):
                with dist_autograd.context() as context:
                    try:
                        backward(context, rrefs, of=loss_that_reads)
                    except RuntimeError as error:
                        assert "modified by an inplace operation" in str(error)
                        continue
                    optimizer.step(context)
                    done += 1
            applied.append(done)

        errors = in_threads(THREADS, train)
        assert not errors, errors[0]
        if concurrency == "hogwild":
            assert sum(applied) == THREADS * CONTEXTS
        assert torch.equal(rrefs[0].to_here(), torch.full((1000,), 1 - sum(applied) * 2**-12))


@on_client
def test_a_step_does_not_wait_for_python_on_the_worker():
    """Python on the worker holds the parameters, the gradients and the GIL."""
    rrefs = parameters("worker1", (1000,), (10,))
    before = [rref.to_here().detach().clone() for rref in rrefs]
    optimizer = DistributedOptimizer(torch.optim.AdamW, rrefs)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        held = rpc.rpc_async("worker1", touch_and_hold, args=(context, rrefs, HELD))
        time.sleep(0.5)
        began = time.monotonic()
        optimizer.step(context)
        assert time.monotonic() - began < HELD / 4
        assert not held.done()
        held.wait()
    for rref, start in zip(rrefs, before, strict=True):
        assert not torch.equal(rref.to_here(), start)


@on_client
def test_many_contexts_leave_nothing():
    rrefs = parameters("worker1", (2,))
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs)
    for _ in range(300):
        with dist_autograd.context() as context:
            backward(context, rrefs)
            optimizer.step(context)
    assert len(optimizer._applied) < 100
    assert rpc.rpc_sync("worker1", open_contexts) <= 1
