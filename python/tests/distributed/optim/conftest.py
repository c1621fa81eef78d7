"""A world of processes for the tests here."""

import pathlib
import sys

import pytest

# Workers find what they are asked to call by the name of its module.
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from process_world import World


@pytest.fixture(scope="session")
def worlds():
    """The world, in a list, so that another may take its place."""
    started = []
    yield started
    for world in started:
        world.stop()


@pytest.fixture
def process_world(worlds, tmp_path):
    """The world that there is, or a new one where a test has broken it."""
    if not worlds or not worlds[-1].alive():
        worlds.append(World(tmp_path))
    return worlds[-1]
