"""Calls that a worker makes of itself, with references that no other worker has."""

import pytest
import torch
from torch.distributed import autograd as dist_autograd
from torch.distributed import rpc

from updraft import distributed


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
