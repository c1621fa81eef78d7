"""Runs updraft-worker for tests."""

import contextlib
import pathlib
import signal
import subprocess

import pytest

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


@pytest.fixture
def addresses():
    """The addresses of two workers."""
    with running() as (one, _), running() as (other, _):
        yield [one, other]
