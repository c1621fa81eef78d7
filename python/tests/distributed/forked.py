"""Runs a program in the processes of a world: `forked.py COUNT [--with=MODULE…] PROGRAM…`.

PROGRAM is a file or `-m MODULE`, with arguments. It is as with torchrun, except that the processes
are forked off one that has imported torch already, which takes longer than most programs here.
"""

import ctypes
import importlib
import os
import pathlib
import runpy
import signal
import socket
import sys

# With what optimizers import when the first one is made.
import updraft.distributed.optim  # noqa: F401

_PR_SET_PDEATHSIG = 1


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def be_member(rank, count, port):
    """Sets in a process what torchrun does."""
    # Where the first process is killed, nobody stays.
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    numbers = {"RANK": rank, "WORLD_SIZE": count, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": count}
    os.environ.update({name: str(value) for name, value in numbers.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))


def wait_for(children):
    """Waits for all to end, and returns the exit code; when one fails, the others are ended."""
    failed = False
    while children:
        child, status = os.wait()
        children.remove(child)
        if status and not failed:
            failed = True
            for other in children:
                os.kill(other, signal.SIGKILL)
    return int(failed)


def run(program, arguments):
    is_module = program == "-m"
    sys.argv[1 if is_module else 0 :] = arguments[1:] if is_module else [program, *arguments]
    if is_module:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(pathlib.Path(program).parent))
        runpy.run_path(program, run_name="__main__")


def main():
    count, *rest = sys.argv[1:]
    while rest[0].startswith("--with="):
        importlib.import_module(rest.pop(0).removeprefix("--with="))
    # A fork has no other.
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
