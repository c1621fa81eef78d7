"""Runs updraft-worker for tests."""

import contextlib
import pathlib
import signal
import socket
import subprocess
import time

import pytest

from updraft.worker.v1 import worker_pb2 as messages

ROOT = pathlib.Path(__file__).resolve().parents[4]
WORKER = ROOT / "build" / "release" / "bin" / "updraft-worker"


@contextlib.contextmanager
def running(*options, address="127.0.0.1:0", stderr=None, program=WORKER):
    """Yields the address of a worker, and the process."""
    process = subprocess.Popen(
        [program, f"--listen={address}", *options],
        stdout=subprocess.PIPE,
        stderr=stderr or subprocess.DEVNULL,
        text=True,
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("listening on "), line
        yield line.removeprefix("listening on ").rstrip(), process
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()


def wait_until(holds, seconds=15):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def statistics(client, worker=0):
    request = messages.GetStatisticsRequest()
    return client._workers.call_each(
        [worker], lambda stub, _, timeout: stub.GetStatistics(request, timeout=timeout)
    )[worker]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


@pytest.fixture
def addresses():
    """The addresses of two workers."""
    with running() as (one, _), running() as (other, _):
        yield [one, other]


class Killed:
    """A worker that is killed and started again at the same address, with the same store."""

    def __init__(self, store):
        self.store = store
        self.options = [f"--store={store}", "--journal=1", "--snapshot-interval=1"]
        self.address = "127.0.0.1:0"
        self.start()

    def start(self):
        self.running = running(*self.options, address=self.address)
        self.address, self.process = self.running.__enter__()

    def kill(self):
        self.close()
        self.start()

    def close(self):
        if self.running:
            self.running.__exit__(None, None, None)
        self.running = None


@pytest.fixture
def killed(tmp_path):
    worker = Killed(tmp_path / "store")
    yield worker
    worker.close()
