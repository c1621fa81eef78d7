"""What workers are asked to make."""

import json

import torch

from updraft.distributed.optim.hypers import HyperReaders
from updraft.distributed.optim.kinds import maker
from updraft.distributed.optim.request import request


def choices(given, **options):
    optimizer = maker(given)([torch.nn.Parameter(torch.zeros(1, 1))], **options)
    readers = HyperReaders(optimizer.correspondence)
    text = request(optimizer, readers, [([0], [0])], optimizer.param_groups, [["worker1"]], True)
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
