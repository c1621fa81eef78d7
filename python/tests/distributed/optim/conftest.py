"""A world of processes for the tests here."""

import pathlib
import sys

import pytest

# Workers find what they are asked to call by the name of its module.
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from process_world import World


@pytest.fixture(scope="session")
def worlds():
    """The one of each kind."""
    started = {}
    yield started
    for world in started.values():
        world.stop()


@pytest.fixture(scope="module")
def faults():
    """What happens to messages in the world of a file; see `World`."""
    return None


@pytest.fixture
def process_world(worlds, faults, tmp_path):
    """The world that there is, or a new one where a test has broken it."""
    kind = str(faults)
    world = worlds.get(kind)
    if world is not None and not world.alive():
        # What is left of it would take processor time.
        world.stop()
        world = None
    if world is None:
        world = worlds[kind] = World(tmp_path, faults)
    return world
