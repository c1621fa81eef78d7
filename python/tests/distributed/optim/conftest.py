"""A world of processes for the tests here."""

import pathlib
import sys

import pytest

# Workers find what they are asked to call by the name of its module.
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from process_world import World


@pytest.fixture(scope="session")
def worlds():
    """Those of each kind, in a list, so that another may take the place of one."""
    started = {}
    yield started
    for some in started.values():
        for world in some:
            world.stop()


@pytest.fixture(scope="module")
def faults():
    """What happens to messages in the world of a file; see `World`."""
    return None


@pytest.fixture
def process_world(worlds, faults, tmp_path):
    """The world that there is, or a new one where a test has broken it."""
    some = worlds.setdefault(str(faults), [])
    if not some or not some[-1].alive():
        some.append(World(tmp_path, faults))
    return some[-1]
