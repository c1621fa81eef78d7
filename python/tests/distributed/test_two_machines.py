"""Workers on two machines, simulated by two connected network namespaces."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from .conftest import EXAMPLES

LIMIT = 200


def ip(*arguments):
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True)


@pytest.fixture
def machines():
    """The names of two namespaces, which are also the names of the link's ends."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("needs `ip` and root to make network namespaces")
    names = [f"upd{os.getpid()}{end}" for end in "ab"]
    made = []
    try:
        try:
            for name in names:
                ip("netns", "add", name)
                made.append(name)
            ip("link", "add", names[0], "type", "veth", "peer", "name", names[1])
            for name in names:
                ip("link", "set", name, "netns", name)
            for number, name in enumerate(names, 1):
                ip("-n", name, "address", "add", f"10.77.0.{number}/24", "dev", name)
                ip("-n", name, "link", "set", name, "up")
                ip("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"no network namespaces can be made here: {error.stderr.strip()}")
        yield names
    finally:
        for name in made:
            ip("netns", "delete", name)


def printed_by(machines, *program):
    """The output of a program with one worker on each, started as in `docs/distributed.md`."""
    agents = [
        subprocess.Popen(
            [
                *("ip", "netns", "exec", name, sys.executable, "-W", "ignore"),
                *("-m", "torch.distributed.run", "--nnodes=2", f"--node-rank={rank}"),
                *("--nproc-per-node=1", "--master-addr=10.77.0.1", "--master-port=29500"),
                *program,
            ],
            env=dict(
                os.environ, TP_SOCKET_IFNAME=name, GLOO_SOCKET_IFNAME=name, OMP_NUM_THREADS="1"
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank, name in enumerate(machines)
    ]
    try:
        printed, errors = zip(*[agent.communicate(timeout=LIMIT) for agent in agents], strict=True)
    finally:
        for agent in agents:
            agent.terminate()
            agent.wait()
    assert [agent.returncode for agent in agents] == [0, 0], "\n".join(errors)
    # The second worker prints nothing.
    assert printed[1] == ""
    return printed[0]


def test_calls_with_gradients(machines):
    program = str(EXAMPLES / "maml.py")
    first, *_ = printed_by(machines, program, "--check", "--steps", "1").splitlines()
    assert first.startswith("largest difference from gradients of one process: ")
    assert float(first.rpartition(" ")[2]) <= 1e-6


def test_steps_of_parameters_on_the_other_machine(machines):
    """One trainer and one server."""
    program = str(EXAMPLES / "parameter_server.py")
    said = printed_by(machines, program, "--epochs", "1")
    qualities = re.findall(r"trained: loss (\S+), (\S+)% of new images right$", said, re.M)
    (loss_before, _), (loss, right) = [map(float, quality) for quality in qualities]
    assert loss < loss_before / 2
    assert right > 80
    assert re.search(r"^90 steps of 1 trainers in ", said, re.M)
