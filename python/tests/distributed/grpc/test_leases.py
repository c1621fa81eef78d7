"""Contexts that killed clients leave behind."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from updraft.distributed.grpc import Client

from .conftest import running, statistics

CLIENTS, CONTEXTS = 4, 2_500

# Opens contexts, pushes a gradient into some of them, and is killed.
LEAKING = """
import os, signal, sys
import numpy as np
from updraft.distributed.grpc import Client

client = Client([sys.argv[1]], name=sys.argv[2])
optimizer = client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])
for number in range(int(sys.argv[3])):
    context = optimizer.context()
    if number % 50 == 0:
        context.push({"w": np.ones(10_000, np.float32)})
os.kill(os.getpid(), signal.SIGKILL)
"""


def resident_bytes(process):
    """Returns the resident memory of a process."""
    pages = pathlib.Path(f"/proc/{process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_contexts_of_killed_clients_are_freed():
    with running("--lease=1") as (address, process), Client([address]) as client:
        client.put({"w": np.zeros(10_000, np.float32)})
        client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])
        before = resident_bytes(process)
        leaking = [
            subprocess.Popen([sys.executable, "-c", LEAKING, address, f"c{number}", str(CONTEXTS)])
            for number in range(CLIENTS)
        ]
        assert [each.wait() for each in leaking] == [-signal.SIGKILL] * CLIENTS
        end = time.monotonic() + 2 + 1  # two leases, and the pauses between looks
        # A context leaves the table before its gradients are freed.
        while (now := statistics(client)).contexts != 0 or now.tensor_bytes != 40_000:
            assert time.monotonic() < end, now
            time.sleep(0.05)
        assert resident_bytes(process) <= 1.05 * before + (32 << 20)


def test_workers_that_hang_cost_others_no_lease():
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(running("--lease=2")) for _ in range(5)]
        client = stack.enter_context(Client([address for address, _ in workers]))
        names = [f"w{number}" for number in range(len(workers))]
        client.put({name: np.zeros(2, np.float32) for name in names})
        optimizer = client.optimizer("o", "SGD", [{"params": names, "lr": 1.0}])
        optimizer.context()  # stays open
        for _, process in workers[:-1]:
            process.send_signal(signal.SIGSTOP)
        time.sleep(5)
        assert statistics(client, len(workers) - 1).contexts == 1
        for _, process in workers[:-1]:
            process.send_signal(signal.SIGCONT)


def open_contexts(client, worker):
    """Returns the number of contexts on a worker."""
    return statistics(client, worker).contexts


def optimizer_on(client, worker):
    """Returns an optimizer with a parameter on one worker."""
    name = f"w{worker}"
    client._workers.set_places({name: worker})
    client.put({name: np.zeros(2, np.float32)})
    return client.optimizer(name, "SGD", [{"params": [name], "lr": 1.0}])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_lease_is_renewed_for_the_worker_with_the_shortest(order):
    with (
        running("--lease=1") as (one, _),
        running("--lease=60") as (other, _),
        Client([one, other]) as client,
    ):
        optimizers = [optimizer_on(client, worker) for worker in order]
        contexts = []
        for optimizer in optimizers:
            contexts.append(optimizer.context())
            time.sleep(0.1)  # the thread waits
        time.sleep(2.5)
        assert open_contexts(client, 0) == 1
        for context in contexts:
            context.close()


def test_contexts_outlive_the_name_that_opened_them():
    with contextlib.ExitStack() as stack:
        one, _ = stack.enter_context(running("--lease=1"))
        forgetful = stack.enter_context(contextlib.ExitStack())
        other, _ = forgetful.enter_context(running("--lease=1"))
        client = stack.enter_context(Client([one, other]))
        first = client.name
        context = optimizer_on(client, 0).context()
        optimizer_on(client, 1).context()
        forgetful.close()
        stack.enter_context(running("--lease=1", address=other))
        end = time.monotonic() + 30
        while client.name == first:
            assert time.monotonic() < end
            time.sleep(0.05)
        time.sleep(2.5)
        assert open_contexts(client, 0) == 1
        context.push({"w0": np.ones(2, np.float32)})
        context.close()
        assert open_contexts(client, 0) == 0


def refuse_to_start(thread):
    """Takes the place of `threading.Thread.start` at a limit on threads."""
    raise RuntimeError("can't start new thread")


def test_a_lease_is_renewed_by_a_thread_that_starts_later(monkeypatch):
    with running("--lease=1") as (address, _), Client([address]) as client:
        optimizer = optimizer_on(client, 0)
        with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="new thread"):
            patch.setattr(threading.Thread, "start", refuse_to_start)
            optimizer.context()
        with optimizer.context():
            time.sleep(2.5)
            assert open_contexts(client, 0) == 1


def test_a_client_without_a_thread_closes(monkeypatch):
    with running() as (address, _), Client([address]) as client:
        optimizer = optimizer_on(client, 0)
        monkeypatch.setattr(threading.Thread, "start", refuse_to_start)
        with pytest.raises(RuntimeError, match="new thread"):
            optimizer.context()
