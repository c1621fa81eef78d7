"""This process's place in the world, from torchrun's environment variables."""

import pytest

from updraft import distributed
from updraft.distributed import WorldInfo


def test_ranks_come_from_torchruns_environment(place):
    place(rank=5, size=8, LOCAL_RANK=1, LOCAL_WORLD_SIZE=4)
    info = distributed.get_world_info()
    assert info == WorldInfo(world_rank=5, world_size=8, local_rank=1, local_world_size=4)
    assert info.rank == 5
    assert info.worker_name == "worker5"
    assert distributed.get_rank() == distributed.get_world_rank() == 5
    assert distributed.get_world_size() == 8
    assert distributed.get_local_rank() == 1
    assert distributed.get_local_world_size() == 4
    assert distributed.get_worker_id() == 5
    assert distributed.get_worker_id(7) == 7


def test_without_torchrun_it_is_the_only_one(place):
    assert distributed.get_world_info() == (0, 1, 0, 1)


def test_torch_has_rpc():
    assert distributed.is_available()


@pytest.mark.parametrize(
    ("id", "kind", "message"),
    [
        (True, TypeError, "the worker id is `True`; it must be an int"),
        (1.0, TypeError, "the worker id is `1.0`; it must be an int"),
        (-1, ValueError, "the worker id is -1; workers count from 0"),
        (4, ValueError, "unknown worker 4; the world has 4"),
        (
            "worker1",
            RuntimeError,
            "RPC is not running; call this within a function with `auto_init_rpc`, or after"
            " `torch.distributed.rpc.init_rpc`",
        ),
    ],
)
def test_workers_that_are_not_there(place, id, kind, message):
    place(size=4)
    with pytest.raises(kind) as caught:
        distributed.get_worker_id(id)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"RANK": "-1"},
            "the environment variable `RANK` is `-1`; it must be a number, as torchrun sets it",
        ),
        (
            {"WORLD_SIZE": ""},
            "the environment variable `WORLD_SIZE` is ``; it must be a number, as torchrun sets it",
        ),
        (
            {"RANK": "4"},
            "the environment variable `RANK` is 4 and `WORLD_SIZE` is 4; ranks count from 0",
        ),
        (
            {"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "1"},
            "the environment variable `LOCAL_RANK` is 2 and `LOCAL_WORLD_SIZE` is 1; ranks count"
            " from 0",
        ),
    ],
)
def test_an_environment_that_cannot_be(place, given, message):
    place(size=4, **given)
    with pytest.raises(distributed.DistributedError) as caught:
        distributed.get_world_info()
    assert str(caught.value) == message


def test_an_environment_that_lacks_something(place, monkeypatch):
    place()
    monkeypatch.delenv("LOCAL_RANK")
    monkeypatch.delenv("WORLD_SIZE")
    with pytest.raises(distributed.DistributedError) as caught:
        distributed.get_rank()
    assert str(caught.value) == (
        "the environment lacks `WORLD_SIZE` and `LOCAL_RANK`; start the program with torchrun,"
        " which sets `RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `LOCAL_WORLD_SIZE`"
    )
