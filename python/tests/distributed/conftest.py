"""Simulated worlds, and worlds of processes."""

import contextlib
import os
import pathlib
import subprocess
import sys

import pytest

from updraft import distributed
from updraft.distributed import world

LIMIT = 600
EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def place(monkeypatch):
    """Sets the environment as in a world, without starting one."""

    def be(rank=0, size=4, **others):
        given = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size}
        for name, value in {**given, **others}.items():
            monkeypatch.setenv(name, str(value))

    for name in world.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return be


@pytest.fixture
def in_world(place):
    """Calls a function in a world of only this process, with RPC running."""
    return lambda function: distributed.auto_init_rpc()(function)()


@pytest.fixture(scope="session")
def loopback():
    """The environment of processes that join on this machine."""
    return dict(os.environ, GLOO_SOCKET_IFNAME="lo", TP_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")


def run(environment, *command):
    return subprocess.run(
        [sys.executable, "-W", "ignore", *command],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=environment,
    )


@pytest.fixture(scope="session")
def torchrun(loopback):
    """Runs a program in processes that torchrun starts, and kills them after the limit."""
    start = "-m", "torch.distributed.run", "--standalone"
    return lambda count, *command: run(loopback, *start, f"--nproc-per-node={count}", *command)


@pytest.fixture(scope="session")
def forked(loopback):
    """Runs a program in processes like torchrun, but imports torch only once."""
    start = str(pathlib.Path(__file__).with_name("forked.py"))
    return lambda count, *command: run(loopback, start, str(count), *command)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("torch-worker")


@pytest.fixture
def start(start_in_module):
    return start_in_module


@pytest.fixture(scope="module")
def start_in_module(cache):
    """Starts a program as a member of a world; kills the remaining ones at the end."""
    with contextlib.ExitStack() as stack:

        def start(port, rank, *command, folder=None, **variables):
            environment = os.environ | {
                "MASTER_ADDR": "localhost",
                "MASTER_PORT": str(port),
                "RANK": str(rank),
                "WORLD_SIZE": "2",
                "TP_SOCKET_IFNAME": "lo",
                "UPDRAFT_CACHE_DIR": str(cache / "cache"),
                "UPDRAFT_TEST_DIR": str(cache),
                "OMP_NUM_THREADS": "1",
            }
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment | variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.kill)
            return process

        yield start
