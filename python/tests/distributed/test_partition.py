"""Splitting arguments into parts."""

import collections
import copy
import pickle

import pytest
import torch

from updraft import distributed
from updraft.distributed import Part, TensorDimensionPartitioner, dim_partitioner

Pair = collections.namedtuple("Pair", ["image", "label"])


def shares(partitioner, *args, **kwargs):
    """The values of the first argument by worker."""
    return [(worker, args[0].tolist()) for worker, args, kwargs in partitioner(*args, **kwargs)]


def test_parts_are_balanced(place):
    place(size=4)
    assert shares(distributed.batch_partitioner, torch.arange(7)) == [
        (0, [0, 1]),
        (1, [2, 3]),
        (2, [4, 5]),
        (3, [6]),
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("items", [1, 2, 3, 4, 7, 8, 9, 100])
def test_every_item_is_in_one_part(place, size, items):
    place(size=size)
    parts = distributed.batch_partitioner(torch.arange(items))
    assert torch.cat([args[0] for _, args, _ in parts]).tolist() == [*range(items)]
    weights = [part.weight for part in parts]
    assert weights == [len(args[0]) for _, args, _ in parts]
    assert [worker for worker, _, _ in parts] == [*range(min(size, items))]
    assert max(weights) - min(weights) <= 1


def test_exclusive_parts_take_turns(place):
    place(size=2)
    assert shares(distributed.exclusive_batch_partitioner, torch.arange(3)) == [
        (0, [0]),
        (1, [1]),
        (0, [2]),
    ]
    without = dim_partitioner(0, exclusive=True, keepdim=False)
    assert shares(without, torch.arange(3)) == [(0, 0), (1, 1), (0, 2)]
    parts = without(torch.zeros(3, 5, 2))
    assert {args[0].shape for _, args, _ in parts} == {(5, 2)}
    assert {part.weight for part in parts} == {1}


def test_another_dimension(place):
    place(size=2)
    image = torch.arange(6).reshape(2, 3)
    for dim in (1, -1):
        assert shares(dim_partitioner(dim), image) == [(0, [[0, 1], [3, 4]]), (1, [[2], [5]])]


def test_containers_and_other_values(place):
    place(size=2)
    model = torch.nn.Linear(1, 1)
    batch = {"x": torch.arange(4), "y": [torch.arange(4), Pair(torch.arange(4), "l")]}
    first, second = dim_partitioner()(model, batch, 3, scale=torch.arange(4), name="n")
    assert first[0] == 0 and second[0] == 1
    assert first[1][0] is model and second[1][0] is model
    assert second[1][1]["x"].tolist() == [2, 3]
    pair = second[1][1]["y"][1]
    assert type(pair) is Pair and pair.image.tolist() == [2, 3] and pair.label == "l"
    assert second[1][2] == 3
    assert second[2]["scale"].tolist() == [2, 3] and second[2]["name"] == "n"
    assert batch["x"].tolist() == [0, 1, 2, 3]


def test_no_tensor_is_one_part_for_the_caller(place):
    place(rank=2, size=4)
    assert distributed.batch_partitioner(3, x="y") == [(2, (3,), {"x": "y"})]


def test_chosen_workers(place):
    place(size=4)
    cut = TensorDimensionPartitioner(0, workers=[3, 1])
    assert shares(cut, torch.arange(5)) == [(3, [0, 1, 2]), (1, [3, 4])]
    with pytest.raises(ValueError, match="unknown worker 4; the world has 4"):
        TensorDimensionPartitioner(0, workers=[4])(torch.arange(5))


def test_parts_keep_the_graph(place):
    place(size=2)
    batch = torch.ones(3, requires_grad=True)
    for scale, (_, args, _) in enumerate(distributed.batch_partitioner(batch), 1):
        (scale * args[0]).sum().backward()
    assert batch.grad.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    "partitioner",
    [
        distributed.batch_partitioner,
        distributed.exclusive_batch_partitioner,
        dim_partitioner(1, exclusive=True, keepdim=False, workers=[0, "worker1"]),
    ],
)
def test_partitioners_are_pickled(partitioner):
    for again in (pickle.loads(pickle.dumps(partitioner)), copy.deepcopy(partitioner)):
        assert vars(again) == vars(partitioner)
        assert repr(again) == repr(partitioner)


def test_parts_are_triplets_and_pickled():
    part = Part("worker1", [1, 2], {"x": 3}, weight=5)
    for again in (part, pickle.loads(pickle.dumps(part)), copy.deepcopy(part)):
        assert again == ("worker1", (1, 2), {"x": 3})
        assert again.weight == 5


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            (torch.zeros(0, 3),),
            "argument 0 has no items along dimension 0, so there is nothing to split",
        ),
        (
            (torch.zeros(2), {"rate": torch.tensor(0.1)}),
            "cannot split argument 1['rate'] along dimension 0: its shape is []; give values for"
            " all parts as numbers, or in a module",
        ),
        (
            (torch.zeros(3), [1, torch.zeros(2)]),
            "argument 1[1] has 2 items along dimension 0, but argument 0 has 3; give tensors of the"
            " same size in this dimension",
        ),
    ],
)
def test_arguments_that_cannot_be_split(place, args, message):
    place()
    for partitioner in (
        distributed.batch_partitioner,
        distributed.exclusive_batch_partitioner,
    ):
        with pytest.raises(ValueError) as caught:
            partitioner(*args)
        assert str(caught.value) == message


def test_keyword_arguments_are_named(place):
    place()
    with pytest.raises(ValueError, match=r"^argument `mask`\[0\] has 2 items"):
        distributed.batch_partitioner(torch.zeros(3), mask=(torch.zeros(2),))


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: dim_partitioner(0, keepdim=False),
            ValueError,
            "`keepdim=False` requires `exclusive=True`, because only parts of one item can drop the"
            " dimension",
        ),
        (lambda: dim_partitioner(True), TypeError, "`dim` is `True`; it must be an int"),
        (lambda: dim_partitioner(0.5), TypeError, "`dim` is `0.5`; it must be an int"),
        (
            lambda: dim_partitioner(workers=[]),
            ValueError,
            "`workers` is empty; give one or more, or None for all",
        ),
        (
            lambda: dim_partitioner(workers="worker0"),
            TypeError,
            "`workers` is `'worker0'`; give a list of workers",
        ),
    ],
)
def test_partitioners_that_cannot_be(make, kind, message):
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == message
