"""The processes in which a worker compiles the rules of its clients."""

import concurrent.futures
import contextlib
import os
import pathlib
import resource
import signal

import numpy as np
import pytest

from updraft.distributed.grpc import Client, WorkersFailedError

from .conftest import running, wait_until

RULES = 6


@pytest.fixture
def worker():
    """Yields a worker's process and a client of it."""
    with running() as (address, process), Client([address]) as client:
        client.put({"w": np.zeros(4, np.float32)})
        yield process, client


def slow_rule(folder, number=0):
    """Writes a rule that takes about half a second to compile, and returns its path."""
    lines = "\n".join(f"    let x{i} = x{i - 1} * x{max(i - 7, 0)} + {i}.5" for i in range(1, 1200))
    path = folder / f"slow{number}.upd"
    path.write_text(
        f"rule Slow(lr = {number}) {{\n  update(param, grad) {{\n    let x0 = grad\n{lines}\n"
        "    next param = param - lr * x1199\n  }\n}\n"
    )
    return path


def compilers_of(process):
    """Returns the processes that a worker has started."""
    found = []
    for thread in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        with contextlib.suppress(OSError):  # the thread has ended
            found += [int(child) for child in (thread / "children").read_text().split()]
    return found


def compile_while(worker, path, act):
    """Creates an optimizer, and calls `act` with the compiler's process. Returns the future."""
    process, client = worker
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answer = pool.submit(client.optimizer, "o", path, [{"params": ["w"]}])
        found = []
        wait_until(lambda: found.extend(compilers_of(process)) or found)
        act(found[0])
    return answer


def limits_of(process):
    limits = resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_CORE
    return [resource.prlimit(process, limit) for limit in limits]


def test_limits_of_time_and_memory(worker, tmp_path):
    def check(compiler):
        wait_until(lambda: limits_of(compiler) == [(5, 6), (4 << 30, 4 << 30), (0, 0)])

    compile_while(worker, slow_rule(tmp_path), check).result()


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (signal.SIGXCPU, "the rule takes more than 5 s to compile; make it smaller, or compile it"),
        (signal.SIGKILL, "the compiler was killed; the machine may be out of memory"),
        (signal.SIGABRT, "the compiler has failed: signal 6"),
    ],
)
def test_a_compiler_that_is_killed(worker, tmp_path, number, message):
    """The kernel kills it, or it ends itself when memory runs out. The worker goes on."""
    path = slow_rule(tmp_path)
    answer = compile_while(worker, path, lambda compiler: os.kill(compiler, number))
    with pytest.raises(WorkersFailedError, match=message):
        answer.result()
    process, client = worker
    assert process.poll() is None
    client.optimizer("o", path, [{"params": ["w"]}])


def test_two_compile_at_the_same_time(worker, tmp_path):
    process, client = worker
    most = 0
    with concurrent.futures.ThreadPoolExecutor(RULES) as pool:
        answers = [
            pool.submit(client.optimizer, f"o{i}", slow_rule(tmp_path, i), [{"params": ["w"]}])
            for i in range(RULES)
        ]
        while not all(answer.done() for answer in answers):
            # Those that two looks have found were there together.
            most = max(most, len({*compilers_of(process)} & {*compilers_of(process)}))
    for answer in answers:
        answer.result()
    assert most == 2
