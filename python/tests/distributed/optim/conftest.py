"""A world of processes for the tests here."""

import pathlib
import sys

import pytest

# Workers find functions by the name of their module.
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from process_world import World


@pytest.fixture(scope="session")
def worlds():
    """The running world of each kind."""
    started = {}
    yield started
    for world in started.values():
        world.stop()


@pytest.fixture(scope="module")
def faults():
    """The faults of messages in a file's world; see `World`."""
    return None


@pytest.fixture
def process_world(worlds, faults, tmp_path):
    """The running world, or a new one if a test has broken it."""
    kind = str(faults)
    world = worlds.get(kind)
    if world is not None and not world.alive():
        # Remaining processes would use processor time.
        world.stop()
        world = None
    if world is None:
        world = worlds[kind] = World(tmp_path, faults)
    return world
