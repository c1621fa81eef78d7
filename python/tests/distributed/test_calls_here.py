"""Calls of a worker to itself, with references that no other worker has."""

import functools
import threading

import pytest
import torch
from torch.distributed import autograd as dist_autograd
from torch.distributed import rpc

from updraft import distributed
from updraft.distributed.optim import DistributedOptimizer, collect_parameters


def test_a_reference_that_nobody_else_has(in_world):
    def main():
        weight = torch.nn.Parameter(torch.eye(2))
        with dist_autograd.context() as context:
            [output] = distributed.remote_sync_call(
                "linear", args=(torch.ones(2), rpc.RRef(weight)), partitioner="worker0"
            )
            dist_autograd.backward(context, [output.sum()])
            return output.detach(), dist_autograd.get_gradients(context)[weight]

    output, gradient = in_world(main)
    assert output.equal(torch.ones(2))
    assert gradient.equal(torch.ones(2, 2))


def test_calls_under_no_grad_are_not_recorded(place):
    """A backward pass would wait for the gradient of a call that isn't part of it."""
    options = rpc.TensorPipeRpcBackendOptions(rpc_timeout=5)

    def main():
        weight = torch.nn.Parameter(torch.eye(2))
        call = functools.partial(
            distributed.remote_sync_call, "linear", args=(torch.ones(2), rpc.RRef(weight))
        )
        with dist_autograd.context() as context:
            with torch.no_grad():
                [apart] = call(partitioner=0)
            assert not apart.requires_grad
            [output] = call(partitioner=0)
            dist_autograd.backward(context, [output.sum()])
            return dist_autograd.get_gradients(context)[weight]

    main = distributed.auto_init_rpc(rpc_backend_options=options)(main)
    assert main().equal(torch.ones(2, 2))


def test_a_reference_in_a_world_after_another(place):
    def main():
        weight = torch.nn.Parameter(torch.eye(2))
        assert collect_parameters([rpc.RRef(weight)])[0].equal(weight)
        optimizer = DistributedOptimizer(torch.optim.SGD, [rpc.RRef(weight)], lr=0.5)
        assert [remote.owner().name for remote in optimizer.remote_optimizers] == [here()]
        with dist_autograd.context() as context:
            [output] = distributed.remote_sync_call(
                "linear", args=(torch.ones(2), rpc.RRef(weight)), partitioner=here()
            )
            dist_autograd.backward(context, [output.sum()])
            optimizer.step(context)
        return weight.detach()

    def here():
        return rpc.get_worker_info().name

    for name in "first", "second":
        weight = distributed.auto_init_rpc(worker_name_format=lambda name=name, **_: name)(main)()
        assert weight.equal(torch.eye(2) - 0.5)


def test_a_reference_to_something_else(in_world):
    def main():
        distributed.remote_sync_call(
            "linear", args=(torch.ones(2), rpc.RRef(3)), partitioner="worker0"
        )

    message = r"^expected argument 1 of `linear` to refer to a tensor, got 3$"
    with pytest.raises(TypeError, match=message):
        in_world(main)


@rpc.functions.async_execution
def added_later(tensor, other=1):
    return rpc.rpc_async("worker0", torch.add, args=(tensor, other))


def test_a_function_that_answers_later(in_world):
    def main():
        call = functools.partial(distributed.remote_sync_call, added_later, partitioner=0)
        with pytest.raises(RuntimeError, match="size of tensor a") as caught:
            call(args=(torch.ones(2), torch.ones(3)))
        assert caught.value.__notes__[0].startswith("worker `worker0`, part 0 of 1:\nTraceback")
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            call()
        return call(args=(torch.ones(2),))

    assert in_world(main)[0].equal(torch.full((2,), 2.0))


def test_integers_that_torch_cannot_hold(in_world):
    message = r"^worker `worker0`, part 0 of 1: the argument `x` of `same` is int, and something"

    def main():
        with torch.library._scoped_library("updraft_functions", "FRAGMENT") as library:
            library.define("same(int x) -> int")
            library.impl("same", lambda x: x, "CompositeImplicitAutograd")
            call = functools.partial(distributed.remote_sync_call, "same", partitioner=0)
            for held in (-(2**63), 2**63 - 1):
                assert call(args=(held,)) == [held]
            for larger in (2**63, 2**64):
                with pytest.raises(TypeError, match=message):
                    call(args=(larger,))

    in_world(main)


def shifted(batch):
    return batch + 1


shifted_elsewhere = distributed.parallelize(partitioner=0)(shifted)


def test_a_parallelized_function_under_another_name(in_world):
    def main():
        batch = torch.arange(3.0)
        return [
            shifted_elsewhere(batch),
            shifted(batch),
            distributed.parallelize(partitioner="worker0")(shifted)(batch),
            distributed.parallelize(partitioner=0)(torch.neg)(-batch - 1),
        ]

    (first,), second, (third,), (fourth,) = in_world(main)
    for found in first, second, third, fourth:
        assert found.equal(torch.tensor([1.0, 2.0, 3.0]))


def test_a_parallelized_function_that_nobody_finds(in_world):
    def within(batch):
        return batch

    message = (
        r"^cannot find the function `.*<locals>.within` in `.*test_calls_here`; workers find"
        r" functions by name, so define and parallelize it at the top of a module$"
    )
    with pytest.raises(ValueError, match=message):
        in_world(lambda: distributed.parallelize(partitioner=0)(within)(torch.ones(2)))


released = threading.Event()


def wait_for_release():
    return released.wait(60)


def test_one_meaning_of_timeouts(place):
    """Without a timeout or with None, that of the options applies; 0 means no timeout."""
    options = rpc.TensorPipeRpcBackendOptions(rpc_timeout=2)

    def main():
        released.clear()
        try:
            unlimited = [
                distributed.remote_async_call(wait_for_release, partitioner=0, timeout=0),
                distributed.remote_async_call(wait_for_release, partitioner=0, timeout=1e300),
            ]
            for given in {}, {"timeout": None}, {"timeout": 1}, {"timeout": -1}:
                with pytest.raises(distributed.DistributedError, match="timeout"):
                    distributed.remote_sync_call(wait_for_release, partitioner=0, **given)
        finally:
            released.set()
        return [future.wait() for future in unlimited]

    assert distributed.auto_init_rpc(rpc_backend_options=options)(main)() == [[True], [True]]


@pytest.mark.parametrize(
    ("timeout", "kind", "message"),
    [
        ("5", TypeError, "`timeout` is `'5'`; give seconds, 0 for no limit, or None"),
        (True, TypeError, "`timeout` is `True`; give seconds, 0 for no limit, or None"),
        (
            -2,
            ValueError,
            "`timeout` is -2; give seconds, 0 for no limit, or None for that of "
            "`rpc_backend_options`",
        ),
        (
            float("nan"),
            ValueError,
            "`timeout` is nan; give seconds, 0 for no limit, or None for that of "
            "`rpc_backend_options`",
        ),
    ],
)
def test_timeouts_that_are_refused(in_world, timeout, kind, message):
    def main():
        for call in (
            functools.partial(distributed.remote_sync_call, shifted, args=(1,)),
            functools.partial(distributed.remote_sync_call, "linear"),
            functools.partial(distributed.remote_async_call, "linear"),
        ):
            with pytest.raises(kind) as caught:
                call(partitioner=0, timeout=timeout)
            assert str(caught.value) == message

    in_world(main)
