"""A world that is only said to be there, and worlds of processes."""

import pytest

from updraft import distributed
from updraft.distributed import world


@pytest.fixture
def place(monkeypatch):
    """Makes this process one of a world, as far as its environment tells."""

    def be(rank=0, size=4, **others):
        given = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size}
        for name, value in {**given, **others}.items():
            monkeypatch.setenv(name, str(value))

    for name in world.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return be


@pytest.fixture
def in_world(place):
    """Calls a function in a world of this process alone, with RPC running."""
    return lambda function: distributed.auto_init_rpc()(function)()
