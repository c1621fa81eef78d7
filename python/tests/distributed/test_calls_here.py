"""Calls that a worker makes of itself, with references that no other worker has."""

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
            output = distributed.call("worker0", "linear", torch.ones(2), rpc.RRef(weight))
            dist_autograd.backward(context, [output.sum()])
            return output.detach(), dist_autograd.get_gradients(context)[weight]

    output, gradient = in_world(main)
    assert output.equal(torch.ones(2))
    assert gradient.equal(torch.ones(2, 2))


def test_a_reference_in_a_world_after_another(place):
    def main():
        weight = torch.nn.Parameter(torch.eye(2))
        assert collect_parameters([rpc.RRef(weight)])[0].equal(weight)
        optimizer = DistributedOptimizer(torch.optim.SGD, [rpc.RRef(weight)], lr=0.5)
        assert [remote.owner().name for remote in optimizer.remote_optimizers] == [here()]
        with dist_autograd.context() as context:
            output = distributed.call(here(), "linear", torch.ones(2), rpc.RRef(weight))
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
        distributed.call("worker0", "linear", torch.ones(2), rpc.RRef(3))

    message = r"^argument 1 of `linear` is a reference to 3, which is no tensor$"
    with pytest.raises(TypeError, match=message):
        in_world(main)


@rpc.functions.async_execution
def added_later(tensor):
    return rpc.rpc_async("worker0", torch.add, args=(tensor, 1))


def test_a_function_that_answers_later(in_world):
    def main():
        return distributed.call("worker0", added_later, torch.ones(2))

    assert in_world(main).equal(torch.full((2,), 2.0))


def test_integers_that_torch_cannot_hold(in_world):
    message = r"^`same` has failed on `worker0`: the argument `x` of `same` is int, and something"

    def main():
        with torch.library._scoped_library("updraft_functions", "FRAGMENT") as library:
            library.define("same(int x) -> int")
            library.impl("same", lambda x: x, "CompositeImplicitAutograd")
            for held in (-(2**63), 2**63 - 1):
                assert distributed.call("worker0", "same", held) == held
            for larger in (2**63, 2**64):
                with pytest.raises(TypeError, match=message):
                    distributed.call("worker0", "same", larger)

    in_world(main)
