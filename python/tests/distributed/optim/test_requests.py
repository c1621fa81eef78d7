"""What workers are asked to make."""

import json

import pytest
import torch
from torch.distributed import rpc

from updraft.distributed.optim import DistributedOptimizer, compiled_execution
from updraft.distributed.optim.hypers import HyperReaders
from updraft.distributed.optim.kinds import maker
from updraft.distributed.optim.request import request


def choices(given, **options):
    optimizer = maker(given)([torch.nn.Parameter(torch.zeros(1, 1))], **options)
    readers = HyperReaders(optimizer.correspondence)
    text = request(
        optimizer, readers, [([0], [0])], optimizer.param_groups, [["worker1"]], True, 0.0
    )
    (group,) = json.loads(text)["groups"]
    return group["choices"]["f32"]


def test_what_flags_follow_from_is_set_first():
    first, everything, nothing = choices("SGD", lr=0.5, momentum=0.25)
    assert first == {"momentum": "0.25"}
    assert everything["lr"] == "0.5"
    assert everything["momentum"] == "0.25"
    assert nothing == {}
    first, _, _ = choices("SGD", lr=0.5)
    assert first == {}


def test_a_wait_below_zero_is_refused(in_world):
    def main():
        compiled_execution.get_rpc_timeout = lambda: -4.0
        DistributedOptimizer(torch.optim.SGD, [rpc.RRef(torch.nn.Parameter(torch.ones(1)))], lr=0.1)

    message = r"the request for an optimizer waits -3 seconds for its parameters; give 0, for ever"
    with pytest.raises(ValueError, match=message):
        in_world(main)
