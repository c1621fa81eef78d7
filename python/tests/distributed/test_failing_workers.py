"""A failing worker raises its exception, and nobody waits for it forever."""

import json
import pathlib
import socket
import subprocess
import sys

import pytest

WORLD = 3
# Well below all timeouts of RPC.
LIMIT = 45


@pytest.fixture(scope="module")
def answers(tmp_path_factory, loopback):
    """The exceptions in each world at each worker, and the seconds that they took.

    Runs without torchrun, which would end the other workers itself.
    """
    folder = tmp_path_factory.mktemp("answers")
    free = [socket.socket() for _ in range(2)]
    for one in free:
        one.bind(("127.0.0.1", 0))
    ports = [str(one.getsockname()[1]) for one in free]
    for one in free:
        one.close()
    program = pathlib.Path(__file__).with_name("failing.py")
    workers = [
        subprocess.Popen(
            [sys.executable, "-W", "ignore", str(program), str(folder), *ports],
            env={
                **loopback,
                "MASTER_ADDR": "127.0.0.1",
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(WORLD),
                "LOCAL_WORLD_SIZE": str(WORLD),
            },
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(WORLD)
    ]
    try:
        for worker in workers:
            _, errors = worker.communicate(timeout=200)
            assert worker.returncode == 0, errors
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(WORLD)]


def test_a_worker_that_raises(answers):
    texts, seconds = zip(*[answer["barrier_or_call"] for answer in answers], strict=True)
    assert texts[0] == "PeerError: worker `worker1` has failed: ValueError: broken"
    assert texts[1] == "ValueError: broken"
    assert texts[2].startswith("DistributedError: worker `worker1`, part 0 of 1: ")
    assert max(seconds) < LIMIT


def test_a_worker_that_is_killed(answers):
    assert "killed" not in answers[2]
    texts, seconds = zip(*[answer["killed"] for answer in answers[:2]], strict=True)
    assert texts[0].startswith("PeerError: worker `worker2` has ended: ")
    assert texts[1].startswith("PeerError: worker `worker0` has ")
    assert max(seconds) < LIMIT
