"""Calls a function of a test's file in two processes that form a group."""

import json
import os
import pathlib
import select
import subprocess
import sys

import pytest

WORLD = 2
TIMEOUT = 120.0


class Group:
    """Processes shared by all tests, because importing torch takes longer than a test."""

    def __init__(self, root):
        environment = dict(os.environ, GLOO_SOCKET_IFNAME="lo", OMP_NUM_THREADS="1")
        program = pathlib.Path(__file__).with_name("member.py")
        self.members = [
            subprocess.Popen(
                [sys.executable, "-W", "ignore", str(program), str(rank), str(WORLD), str(root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for rank in range(WORLD)
        ]

    def call(self, **task):
        """Returns the error of each process, or None."""
        for member in self.members:
            member.stdin.write(json.dumps(task) + "\n")
            member.stdin.flush()
        return [self.answer(member) for member in self.members]

    def answer(self, member):
        ready, _, _ = select.select([member.stdout], [], [], TIMEOUT)
        line = member.stdout.readline() if ready else ""
        if not line:
            self.stop()
            return "it has ended" if ready else "it has not answered in time"
        return json.loads(line)

    def stop(self):
        for member in self.members:
            member.kill()
            member.wait()

    def alive(self):
        return all(member.poll() is None for member in self.members)


@pytest.fixture(scope="session")
def groups(pytestconfig):
    """The group in a list, so that it can be replaced."""
    started = [Group(pytestconfig.rootpath)]
    yield started
    started[0].stop()


@pytest.fixture
def in_processes(groups, request, tmp_path):
    """Calls `function(folder)` of the test's file in each process; requires success in all."""

    def run(function):
        if not groups[0].alive():
            groups[0] = Group(request.config.rootpath)
        complaints = groups[0].call(
            module=request.module.__name__,
            function=function.__name__,
            folder=str(tmp_path),
            store=str(tmp_path / "store"),
        )
        assert complaints == [None] * WORLD, "\n".join(map(str, complaints))

    return run
