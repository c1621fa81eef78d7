"""Connections of strangers to the ports of members, such as port scans."""

import contextlib
import pathlib
import socket
import struct
import subprocess
import sys

import pytest

from .ports import free_port
from .torch_worker import LIMIT, PROGRAM, outcome

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the worker is not built")

MEMBER = pathlib.Path(__file__).with_name("visited_member.py")
LISTENING = "0A"


def framed(payload):
    return struct.pack("<Q", len(payload)) + payload


SENT = {
    "nothing": b"",
    "http": b"GET / HTTP/1.0\r\n\r\n",
    "tls": bytes.fromhex("16030102000100 01fc0303") + bytes(500),
    "a byte": b"\0",
    "no message": framed(b""),
    "zeros": bytes(4096),
    "the largest length": struct.pack("<Q", 2**64 - 1),
    "a length of 1 GB": struct.pack("<Q", 2**30) + bytes(100),
    "a part of a hello": framed(bytes.fromhex("b800b901bd04"))[:-2],
    "another message": framed(bytes.fromhex("b802b90100")),
    "too long a name": framed(bytes.fromhex("b800b901bd7f") + b"name"),
    "JSON": framed(b"{}" * 50),
}


def listening_ports(process):
    folder = pathlib.Path(f"/proc/{process.pid}")
    inodes = set()
    for entry in (folder / "fd").iterdir():
        with contextlib.suppress(OSError):
            inodes.add(str(entry.readlink()))
    ports = set()
    for table in "tcp", "tcp6":
        for line in (folder / "net" / table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in inodes:
                ports.add(int(fields[1].split(":")[1], 16))
    return ports


def visit(port, data, reset):
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as stranger:
        if reset:
            stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stranger.sendall(data)


# By default, tensors of other machines use separate sockets, `mpt_uv`.
@pytest.mark.parametrize("channels", ["basic", "mpt_uv,basic"])
def test_a_port_scan(start, channels):
    port = free_port()
    place = {"WORLD_SIZE": "3", "UPDRAFT_TEST_CHANNELS": channels}
    worker = start(port, 0, PROGRAM, "--name=ps", "--transports=uv", **place)
    clients = [start(port, rank, sys.executable, MEMBER, **place) for rank in (1, 2)]
    for client in clients:
        assert client.stdout.readline() == "joined\n", client.stderr.read()
    with contextlib.ExitStack() as idle:
        for member in (worker, *clients):
            ports = listening_ports(member) - {port}
            assert ports
            for visited in ports:
                for data in SENT.values():
                    for reset in (False, True):
                        visit(visited, data, reset)
            # More than may be accepted at once.
            visited = min(ports)
            for _ in range(300):
                idle.enter_context(socket.create_connection(("127.0.0.1", visited), timeout=LIMIT))
            assert member.poll() is None, member.stderr.read()
        for client in clients:
            client.stdin.write("\n")
            client.stdin.flush()
        for client in clients:
            assert client.stdout.readline() == "connected\n", client.stderr.read()
    for member in (*clients, worker):
        code, _, err = outcome(member)
        assert code == 0, err


WITHOUT_DESCRIPTORS = """
import os, resource, torch
import updraft.distributed.optim.operators

free = os.dup(0)
os.close(free)
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (free, most))
try:
    torch.ops.updraft.guard_transports()
except RuntimeError as error:
    print(error)
"""


def test_a_process_without_descriptors_cannot_join():
    """It doesn't wait until the first connection fails."""
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_DESCRIPTORS], capture_output=True, text=True, timeout=LIMIT
    )
    assert (result.returncode, result.stdout) == (
        0,
        "cannot watch new connections: Too many open files; raise the limit on open files "
        "(`ulimit -n`)\n",
    ), result.stderr
