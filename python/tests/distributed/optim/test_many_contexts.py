"""Many contexts and threads: no leaks, and no lost updates."""

import json
import pathlib

import pytest

PROGRAM = pathlib.Path(__file__).with_name("many_contexts.py")
CONTEXTS, THREADS, OF_THREAD = 1200, 64, 10
ELEMENTS = 10_000


@pytest.fixture(scope="module")
def found(forked):
    ran = forked(
        *(3, str(PROGRAM), "--contexts", str(CONTEXTS), "--size", str(ELEMENTS)),
        *("--threads", str(THREADS), "--contexts-of-thread", str(OF_THREAD)),
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_no_context_is_left(found):
    assert found["open contexts"] == [0, 0, 0]
    assert found["few threads"]["remembered"] < 100


def test_memory_does_not_grow(found):
    """Keeping one gradient of every tenth context would exceed the limit."""
    _, first, *_, last = found["few threads"]["memory"]
    limit = CONTEXTS * 4 * ELEMENTS / 10
    assert all(after - before < limit for before, after in zip(first, last, strict=True)), found


def test_every_context_is_counted_once(found):
    for some in (found["few threads"], found["many threads"]):
        assert some["errors"] == []
        assert some["wrong"] == 0
    assert found["few threads"]["contexts"] == CONTEXTS


def test_lock_waits_are_measured(found):
    at_most = found["many threads"]["seconds"] * THREADS
    assert all(0 <= waited <= at_most for waited in found["many threads"]["waited"])
