"""How members of the backend `UPDRAFT` leave, even if one of them doesn't."""

import json
import pathlib
import signal
import sys

import pytest

from .ports import free_port
from .torch_worker import LIMIT, PROGRAM, outcome

pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the worker is not built")

MEMBER = pathlib.Path(__file__).with_name("leaving_member.py")
# Seconds. A busy machine needs some of them; torch waits at the store for 300.
SOON = 40


@pytest.fixture
def members(start):
    """A worker, which hosts the store, and two clients that have joined."""
    port = free_port()
    worker = start(port, 0, PROGRAM, "--name=ps", WORLD_SIZE="3")
    clients = [start(port, rank, sys.executable, MEMBER, WORLD_SIZE="3") for rank in (1, 2)]
    for client in clients:
        assert client.stdout.readline() == "joined\n", client.stderr.read()
    return worker, *clients


def leave(client, **arguments):
    client.stdin.write(json.dumps(arguments) + "\n")
    client.stdin.flush()


def left(client):
    """The seconds that it took, and the error, if any."""
    out, err = client.communicate(timeout=LIMIT)
    assert client.returncode == 0, err
    return json.loads(out.splitlines()[-1])


def has_ended(*names):
    have = "have" if len(names) > 1 else "has"
    listed = ", ".join(f"`{name}`" for name in names)
    return (
        f"{listed} {have} ended without leaving the world; calls that still run are not waited for"
    )


def lost(err):
    """The worker's message about the world, without torch's later warnings about connections."""
    (line,) = (line for line in err.splitlines() if line.startswith("error: lost the world at "))
    return line.split(": ", 2)[2]


def test_all_leave(members):
    worker, *clients = members
    for client in clients:
        leave(client)
    for client in clients:
        assert left(client)[1] is None
    code, _, err = outcome(worker)
    assert code == 0, err


@pytest.mark.parametrize("arguments", [{"timeout": 5}, {}, {"graceful": True}])
def test_one_has_died(members, arguments):
    worker, client, dying = members
    dying.kill()
    dying.wait()
    leave(client, **arguments)
    seconds, text = left(client)
    # The worker and the client notice it at the same time. The first of them to leave has ended.
    assert text in {has_ended("client2"), has_ended("ps", "client2")}
    assert seconds < SOON
    code, _, err = outcome(worker)
    assert code == 1
    endings = {has_ended("client2"), has_ended("client1", "client2")}
    assert lost(err) in endings, err


def test_one_dies_while_it_waits_for_another(members):
    worker, first, last = members
    leave(first)
    # It has announced that it leaves; until then nobody asks the last one.
    first.stdout.close()
    first.kill()
    first.wait()
    leave(last)
    # The worker and the last one notice it at the same time. The first of them to leave has ended.
    assert left(last)[1] in {has_ended("client1"), has_ended("ps", "client1")}
    assert outcome(worker)[0] == 1


def test_one_dies_while_another_waits_for_it(members):
    worker, first, last = members
    leave(first)
    last.kill()
    last.wait()
    # As above.
    assert left(first)[1] in {has_ended("client2"), has_ended("ps", "client2")}
    assert outcome(worker)[0] == 1


def test_the_worker_has_died(start):
    port = free_port()
    clients = [start(port, rank, sys.executable, MEMBER, WORLD_SIZE="3") for rank in (0, 1)]
    worker = start(port, 2, PROGRAM, "--name=ps", WORLD_SIZE="3")
    for client in clients:
        assert client.stdout.readline() == "joined\n", client.stderr.read()
    worker.kill()
    worker.wait()
    for client in clients:
        leave(client)
    # The first of them to leave has ended, too.
    assert {left(client)[1] for client in clients} <= {
        has_ended("ps"),
        has_ended("client0", "ps"),
        has_ended("client1", "ps"),
    }


def test_one_does_not_leave(members):
    """The other waits until it continues."""
    worker, leaving, staying = members
    leave(leaving, timeout=0.5)
    seconds, text = left(leaving)
    assert text == "`client2` has not called `rpc.shutdown` within 0.5 s"
    assert 0.5 <= seconds < SOON
    assert worker.poll() is None
    leave(staying)
    assert left(staying)[1] == has_ended("client1")
    assert outcome(worker)[0] == 1


def test_a_stopped_member_is_waited_for(members):
    _, leaving, stopped = members
    stopped.send_signal(signal.SIGSTOP)
    leave(leaving, timeout=3)
    seconds, text = left(leaving)
    assert text == "`client2` has not called `rpc.shutdown` within 3 s"
    assert 3 <= seconds < SOON


def test_the_member_that_has_the_store_has_died(start):
    port = free_port()
    clients = [start(port, rank, sys.executable, MEMBER, WORLD_SIZE="2") for rank in (0, 1)]
    for client in clients:
        assert client.stdout.readline() == "joined\n", client.stderr.read()
    host, other = clients
    host.kill()
    host.wait()
    leave(other)
    assert left(other)[1] == has_ended("client0")


STORE = """
import sys
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), is_master=True, wait_for_workers=False)
print("ready", flush=True)
sys.stdin.read()
"""


def test_the_store_is_lost(start):
    """A separate process hosts it, as with torchrun, and all members are alive."""
    port = free_port()
    store = start(port, 0, sys.executable, "-c", STORE, str(port))
    assert store.stdout.readline() == "ready\n", store.stderr.read()
    agent = {"WORLD_SIZE": "2", "TORCHELASTIC_USE_AGENT_STORE": "True"}
    clients = [start(port, rank, sys.executable, MEMBER, **agent) for rank in (0, 1)]
    for client in clients:
        assert client.stdout.readline() == "joined\n", client.stderr.read()
    store.kill()
    store.wait()
    leave(clients[0])
    assert left(clients[0])[1].startswith("the store of the world is lost: ")
    leave(clients[1])
    assert left(clients[1])[1] == has_ended("client0")
