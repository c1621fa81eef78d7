"""Optimizers are made on all workers at the same time, or on none."""

import secrets
import threading
import warnings

import pytest
import torch
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import parameters

from updraft.distributed.optim import DistributedOptimizer
from updraft.distributed.optim.remote import RemoteOptimizer

_made = threading.Event()


class Meeting(torch.optim.Optimizer):
    """Is made on a worker when it is made on the other one, too."""

    def __init__(self, params):
        super().__init__(params, {})
        here = rpc.get_worker_info().name
        if here != "client":
            _made.set()
            other = "worker2" if here == "worker1" else "worker1"
            assert rpc.rpc_sync(other, wait_until_made, timeout=60)

    def step(self):
        """Steps nothing."""


def wait_until_made():
    return _made.wait(30)


@on_client
def test_all_at_the_same_time():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        DistributedOptimizer(Meeting, [*parameters("worker1", (3,)), *parameters("worker2", (3,))])


@on_client
def test_all_that_fail_are_named_and_nothing_stays():
    good = parameters("worker1", (3,))
    bad = rpc.remote("worker2", torch.add, args=(torch.ones(2, requires_grad=True), 1))
    here = rpc.RRef(torch.ones(2, requires_grad=True) + 1)
    numbers = []
    original = secrets.randbits

    def recorded(bits):
        numbers.append(original(bits))
        return numbers[-1]

    secrets.randbits = recorded
    try:
        with pytest.raises(ValueError, match="is not a leaf") as caught:
            DistributedOptimizer(torch.optim.SGD, [here, *good, bad])
    finally:
        secrets.randbits = original
    text = str(caught.value)
    assert "no optimizer was made on `worker2`: parameter 2 is not a leaf" in text, text
    assert "no optimizer was made on `client`: parameter 0 is not a leaf" in text, text
    assert "worker1" not in text
    assert numbers
    workers = {rref.owner_name(): rref.owner() for rref in (here, *good, bad)}
    for worker in workers.values():
        for number in numbers:
            remote = RemoteOptimizer(worker, -1.0, number)
            # A release is not waited for.
            for _ in range(100):
                try:
                    remote.call("states").wait()
                except RuntimeError as error:
                    assert f"this worker has no optimizer {number}; " in str(error), error
                    break
            else:
                raise AssertionError("an optimizer has stayed")
