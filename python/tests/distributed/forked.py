"""Runs a program in the processes of a world: `forked.py COUNT [--with=MODULE…] PROGRAM…`.

PROGRAM is a file, with arguments. The processes find each other as with torchrun, but the first one
hosts the store, and all are forked from a process that has already imported torch, because
importing takes longer than most programs here.
"""

import ctypes
import importlib
import os
import pathlib
import runpy
import signal
import sys

from ports import free_port

# The modules that optimizers import when the first one is created.
import updraft.distributed.optim  # noqa: F401

_PR_SET_PDEATHSIG = 1


def be_member(rank, count, port):
    """Sets the environment that a process needs to find the others."""
    # If the first process is killed, all end.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    numbers = {"RANK": rank, "WORLD_SIZE": count, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": count}
    os.environ.update({name: str(value) for name, value in numbers.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))


def wait_for(children):
    """Waits for all to end, and returns the exit code. If one fails, kills the others soon."""

    def end(*_):
        for child in children:
            os.kill(child, signal.SIGKILL)

    failed = False
    signal.signal(signal.SIGALRM, end)
    while children:
        child, status = os.wait()
        children.remove(child)
        if status and not failed:
            failed = True
            # Until then, another process can report the cause, while this one only lost its
            # connection.
            signal.alarm(5)
    return int(failed)


def run(program, arguments):
    sys.argv = [program, *arguments]
    sys.path.insert(0, str(pathlib.Path(program).parent))
    runpy.run_path(program, run_name="__main__")


def main():
    count, *rest = sys.argv[1:]
    while rest[0].startswith("--with="):
        importlib.import_module(rest.pop(0).removeprefix("--with="))
    # `fork` copies only this thread. A child that expects others could wait for them at its end.
    assert len([*pathlib.Path("/proc/self/task").iterdir()]) == 1
    port = free_port()
    children = set()
    for rank in range(int(count)):
        child = os.fork()
        if child == 0:
            be_member(rank, count, port)
            run(rest[0], rest[1:])
            return
        children.add(child)
    sys.exit(wait_for(children))


if __name__ == "__main__":
    main()
