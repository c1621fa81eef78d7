"""Optimizers are created on all workers concurrently, or on none."""

import contextlib
import json
import os
import pathlib
import secrets
import threading
import time
import warnings

import pytest
import torch
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import ending, parameters

from updraft import _updraft
from updraft.distributed.optim import DistributedOptimizer, Options, eager_optimizer
from updraft.distributed.optim.remote import RemoteOptimizer

_made = threading.Event()


class Meeting(torch.optim.Optimizer):
    """Is created on a worker only after the other worker has begun to create it too."""

    def __init__(self, params):
        super().__init__(params, {})
        here = rpc.get_worker_info().name
        if here != "client":
            _made.set()
            other = "worker2" if here == "worker1" else "worker1"
            assert rpc.rpc_sync(other, wait_until_made, timeout=60)

    def step(self):
        """Does nothing."""


def wait_until_made():
    return _made.wait(30)


@on_client
def test_all_at_the_same_time():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        DistributedOptimizer(Meeting, [*parameters("worker1", (3,)), *parameters("worker2", (3,))])


@contextlib.contextmanager
def recorded():
    """Collects the numbers of the requested optimizers."""
    numbers = []
    original = secrets.randbits

    def recorded(bits):
        numbers.append(original(bits))
        return numbers[-1]

    secrets.randbits = recorded
    try:
        yield numbers
    finally:
        secrets.randbits = original


@on_client
def test_all_that_fail_are_named_and_nothing_stays():
    good = parameters("worker1", (3,))
    bad = rpc.remote("worker2", torch.add, args=(torch.ones(2, requires_grad=True), 1))
    here = rpc.RRef(torch.ones(2, requires_grad=True) + 1)
    with recorded() as numbers, pytest.raises(ValueError, match="is not a leaf") as caught:
        DistributedOptimizer(torch.optim.SGD, [here, *good, bad])
    text = str(caught.value)
    assert "no optimizer was made on `worker2`: parameter 2 is not a leaf" in text, text
    assert "no optimizer was made on `client`: parameter 0 is not a leaf" in text, text
    assert "worker1" not in text
    assert numbers
    workers = {rref.owner_name(): rref.owner() for rref in (here, *good, bad)}
    for worker in workers.values():
        for number in numbers:
            remote = RemoteOptimizer(worker, -1.0, number)
            # Releases aren't waited for.
            for _ in range(100):
                try:
                    remote.call("states").wait()
                except RuntimeError as error:
                    assert f"this worker has no optimizer {number}; " in str(error), error
                    break
            else:
                raise AssertionError("an optimizer has stayed")


class FailsOnOne(torch.optim.Optimizer):
    """Is created on `worker2`, and then fails on `worker1`."""

    def __init__(self, params, *, dies=False):
        super().__init__(params, {})
        here = rpc.get_worker_info().name
        if here == "worker2":
            _made.set()
        if here == "worker1":
            assert rpc.rpc_sync("worker2", wait_until_made, timeout=60)
            if dies:
                os._exit(1)
            raise RuntimeError("it is made on all workers but this one")

    def step(self):
        """Does nothing."""


class Refused(torch.optim.Optimizer):
    """Raises before any worker is asked."""

    def __init__(self, params, lr):
        raise ValueError("it is refused")


_slow_made = threading.Event()


def slow_parameter(ends_well):
    _slow_made.clear()
    time.sleep(0.5)
    _slow_made.set()
    if not ends_well:
        raise ValueError("it was not made")
    return torch.nn.Parameter(torch.ones(2))


def is_slow_made():
    return _slow_made.is_set()


@on_client
def test_an_error_waits_for_parameters_that_are_being_made():
    for given, error in (
        (Refused, "it is refused"),
        (torch.optim.SGD, "Invalid learning rate: -1"),
        (3, "give a class, or a rule"),
    ):
        for ends_well in (True, False):
            made = rpc.remote("worker1", slow_parameter, args=(ends_well,))
            with warnings.catch_warnings(), pytest.raises((ValueError, TypeError), match=error):
                warnings.simplefilter("ignore")
                DistributedOptimizer(given, [made, *parameters("worker2", (3,))], lr=-1)
            assert rpc.rpc_sync("worker1", is_slow_made)


@on_client
def test_an_error_of_a_group_waits_for_parameters_of_others():
    for bad, error in (({"lr": 1.0}, "params"), ({"params": 3}, "'int' object is not iterable")):
        for place in (0, 1):
            groups = [{"params": (rpc.remote("worker1", slow_parameter, args=(True,)),)}]
            groups.insert(place, bad)
            with pytest.raises((KeyError, TypeError), match=error):
                DistributedOptimizer(torch.optim.SGD, groups)
            assert rpc.rpc_sync("worker1", is_slow_made)


def forget_that_it_was_made():
    _made.clear()


def is_made(number):
    return eager_optimizer._optimizers.known(number) is not None


def made_on_none(text, **options):
    """Asserts that a class that fails on one worker has this error, and doesn't stay on others."""
    rpc.rpc_sync("worker2", forget_that_it_was_made)
    rrefs = [*parameters("worker1", (3,)), *parameters("worker2", (3,))]
    with warnings.catch_warnings(), recorded() as numbers, pytest.raises(RuntimeError) as caught:
        warnings.simplefilter("ignore")
        DistributedOptimizer(FailsOnOne, rrefs, **options, options=Options(timeout=30.0))
    assert str(caught.value).startswith(text), caught.value
    assert "worker2" not in str(caught.value)
    assert len(numbers) == 2
    # Releases aren't waited for.
    end = time.monotonic() + 60
    while any(rpc.rpc_sync("worker2", is_made, args=(number,)) for number in numbers):
        assert time.monotonic() < end


@on_client
def test_a_class_in_python_that_fails_on_one_worker_stays_on_none():
    made_on_none("no optimizer was made on `worker1`: it is made on all workers but this one")


@on_client
def test_a_worker_that_dies_in_a_constructor_is_named_and_the_others_keep_nothing():
    with ending("worker1"):
        made_on_none("no optimizer was made on `worker1`: ", dies=True)


def files_of_the_cache():
    """The files of compiled rules, with data that changes if one is rewritten."""
    folder = pathlib.Path(json.loads(_updraft.environment())["cache"]["folder"])
    return {
        str(path): (path.stat().st_ino, path.stat().st_size)
        for path in folder.rglob("*")
        if path.is_file()
    }


@on_client
def test_a_rule_is_compiled_once(folder):
    # The only file.
    path = folder / "once.upd"
    factor = secrets.randbits(40)
    path.write_text(f"rule Once() {{ update(param, grad) {{ next param = param * {factor} }} }}")
    rrefs = parameters("worker1", (3,), (3,))
    before = rpc.rpc_sync("worker1", files_of_the_cache)
    DistributedOptimizer(path, rrefs[:1])
    after_one = rpc.rpc_sync("worker1", files_of_the_cache)
    assert after_one.keys() > before.keys()
    for _ in range(3):
        DistributedOptimizer(path, rrefs[1:])
    assert rpc.rpc_sync("worker1", files_of_the_cache) == after_one
