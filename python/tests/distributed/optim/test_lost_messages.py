"""Lost and late messages, with torch's agent for such tests.

A message of these kinds is lost the first time that its content is sent, and late after that.
"""

import itertools
import time
import types
from unittest import mock

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import backward, fill, gradients, in_threads, ones, open_contexts, parameters

from updraft.distributed.optim import DistributedOptimizer, Options, remote

LATE = 0.5  # seconds
# The error contains the message, in bytes that aren't text.
LOST = "an error without a text"
THREADS, CONTEXTS = 6, 3


@pytest.fixture(scope="module")
def faults():
    return {
        # A call of an operator, and the message that closes a context.
        "messages_to_fail": ["SCRIPT_CALL", "CLEANUP_AUTOGRAD_CONTEXT_REQ"],
        "num_fail_sends": 1,
        "messages_to_delay": {"SCRIPT_CALL": LATE},
    }


_numbers = itertools.count(1000, 10)


def made(rrefs, **options):
    """An optimizer whose first creation request is lost."""
    first = next(_numbers)

    def make():
        # Each attempt has its own numbers. With the same numbers, the messages would be the same.
        numbers = itertools.count(first)
        known = types.SimpleNamespace(randbits=lambda _: next(numbers))
        with mock.patch.object(remote, "secrets", known):
            return DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0, **options)

    with pytest.raises(RuntimeError) as caught:
        make()
    text = str(caught.value)
    for name in {rref.owner_name() for rref in rrefs}:
        assert f"no optimizer was made on `{name}`: {LOST}" in text, text
    return make()


def starts(rrefs):
    return [rref.to_here().detach().clone() for rref in rrefs]


def assert_stepped(rrefs, before, held, times):
    for rref, start, grad in zip(rrefs, before, held, strict=True):
        assert torch.equal(rref.to_here(), start - times * grad)


def on_two_workers():
    return [*parameters("worker1", (3,)), *parameters("worker2", (4,))]


@on_client
def test_a_step_that_is_lost_is_told_and_can_be_tried_again():
    rrefs = on_two_workers()
    before = starts(rrefs)
    optimizer = made(rrefs)
    with dist_autograd.context() as context:
        backward(context, rrefs)
        held = gradients(context, rrefs)
        with pytest.raises(RuntimeError) as caught:
            optimizer.step(context)
        parts = str(caught.value).split("; ")
        assert len(parts) == 2, parts
        for name, part in zip(("worker1", "worker2"), parts, strict=True):
            unknown = f"it is unknown whether a step ran on `{name}`: {LOST}"
            assert part.startswith(unknown), part
        assert_stepped(rrefs, before, held, 0)
        optimizer.step(context)
        assert_stepped(rrefs, before, held, 1)
        with pytest.raises(RuntimeError, match="were already applied; step once in each context"):
            optimizer.step(context)
    assert_stepped(rrefs, before, held, 1)


@on_client
def test_steps_that_are_late_are_done_once():
    rrefs = on_two_workers()
    before = starts(rrefs)
    optimizer = made(rrefs)
    for part in optimizer.remote_optimizers:
        part.timeout = LATE / 2
    with dist_autograd.context() as context:
        backward(context, rrefs)
        held = gradients(context, rrefs)
        for attempt in range(4):
            with pytest.raises(RuntimeError) as caught:
                optimizer.step(context)
            why = (
                LOST
                if attempt == 0
                else f"RPCErr:1:RPC ran for more than set timeout ({LATE * 500:.0f} ms"
            )
            for name in ("worker1", "worker2"):
                unknown = f"it is unknown whether a step ran on `{name}`: {why}"
                assert unknown in str(caught.value), caught.value
        for part in optimizer.remote_optimizers:
            part.timeout = 60.0
        # The contexts were already applied, which counts as success.
        optimizer.step(context)
        assert_stepped(rrefs, before, held, 1)


@on_client
def test_no_update_is_lost_or_doubled():
    rrefs = on_two_workers()
    for rref in rrefs:
        rpc.rpc_sync(rref.owner(), fill, args=(rref, 0.0))
    optimizers = [made(rrefs, options=Options(concurrency="hogwild")) for _ in range(2)]
    lost = []

    def train(number):
        for _ in range(CONTEXTS):
            with dist_autograd.context() as context:
                backward(context, rrefs, of=ones)
                while True:
                    try:
                        optimizers[number % 2].step(context)
                        break
                    except RuntimeError as error:
                        assert LOST in str(error), error
                        lost.append(number)

    errors = in_threads(THREADS, train)
    assert not errors, errors[0]
    assert len(lost) == THREADS * CONTEXTS
    for rref in rrefs:
        assert (rref.to_here() == -THREADS * CONTEXTS).all(), rref.to_here()


@on_client
def test_contexts_are_closed_though_the_first_message_is_lost():
    rrefs = on_two_workers()
    with dist_autograd.context() as context:
        backward(context, rrefs)
        assert rpc.rpc_sync("worker2", open_contexts) >= 1
    end = time.monotonic() + 60
    while any(rpc.rpc_sync(name, open_contexts) for name in ("worker1", "worker2")):
        assert time.monotonic() < end
        time.sleep(0.1)
