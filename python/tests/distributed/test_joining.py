"""Members of the backend `UPDRAFT` that don't fit into the world, or don't join in time."""

import concurrent.futures
import pathlib
import sys

import pytest

from .ports import free_port
from .torch_worker import LIMIT, PROGRAM, outcome

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the worker is not built")

MEMBER = pathlib.Path(__file__).with_name("joining_member.py")
TAKEN = "rank {} is already taken; give each member its own rank\n"
OTHER = (
    "world size mismatch: the first member has 2, `{}` has 3; give all members the same world "
    "size\n"
)


def test_two_of_the_same_rank(start):
    port = free_port()
    size = {"WORLD_SIZE": "3"}
    worker = start(port, 0, PROGRAM, "--name=ps", **size)
    twins = [start(port, 1, sys.executable, MEMBER, **size) for _ in range(2)]
    # One gets the error immediately, and the other waits for the third member.
    with concurrent.futures.ThreadPoolExecutor(len(twins)) as pool:
        ends = [pool.submit(twin.wait, LIMIT) for twin in twins]
        concurrent.futures.wait(ends, return_when=concurrent.futures.FIRST_COMPLETED)
        (refused,) = [twin for twin, end in zip(twins, ends, strict=True) if end.done()]
        assert outcome(refused)[:2] == (0, TAKEN.format(1))
        twins.remove(refused)
        check_that_others_come(start, port, size, worker, twins)


def check_that_others_come(start, port, size, worker, others):
    code, _, err = outcome(start(port, 1, PROGRAM, "--name=other", **size))
    assert code == 1
    assert err.endswith(f"could not join the world at localhost:{port}: {TAKEN.format(1)}")
    last = start(port, 2, sys.executable, MEMBER, **size)
    for member in (*others, last):
        code, out, err = outcome(member)
        assert (code, out) == (0, "joined\n"), err
    assert outcome(worker)[0] == 0


def test_another_size_of_the_world(start):
    port = free_port()
    worker = start(port, 0, PROGRAM, "--name=ps")
    refused = start(port, 1, sys.executable, MEMBER, WORLD_SIZE="3")
    assert outcome(refused)[:2] == (0, OTHER.format("client1"))
    code, _, err = outcome(start(port, 1, PROGRAM, "--name=other", WORLD_SIZE="3"))
    assert code == 1
    assert err.endswith(OTHER.format("other"))
    code, out, err = outcome(start(port, 1, sys.executable, MEMBER))
    assert (code, out) == (0, "joined\n"), err
    assert outcome(worker)[0] == 0


def test_members_that_do_not_come_are_named(start):
    port = free_port()
    worker = start(port, 0, PROGRAM, "--timeout=20", WORLD_SIZE="4")
    client = start(port, 2, sys.executable, MEMBER, WORLD_SIZE="4", UPDRAFT_TEST_PATIENCE="3")
    missing = "expected 4 members, but rank 1, 3 did not join within {} s\n"
    code, out, err = outcome(client)
    assert (code, out) == (0, missing.format(3)), err
    code, _, err = outcome(worker)
    assert code == 1
    assert err.endswith(missing.format(20)), err
