"""Worlds in which a worker fails, for `test_failing_workers.py`.

Each process is one of three workers; the folder for the answers and two ports are its arguments.
"""

import json
import os
import pathlib
import sys
import time

from updraft import distributed


def barrier_or_call():
    """Worker 1 raises, while worker 0 waits for it, and worker 2 calls it."""
    rank = distributed.get_rank()
    if rank == 1:
        distributed.barrier(["worker1", "worker2"])
        time.sleep(0.5)
        raise ValueError("broken")
    if rank == 2:
        distributed.barrier(["worker1", "worker2"])
        distributed.remote_sync_call(time.sleep, args=(1,), partitioner=1)
        distributed.remote_sync_call(time.sleep, args=(0,), partitioner=1)
    distributed.barrier()


def killed():
    """Worker 2 dies while worker 0 is in a barrier and worker 1 has finished."""
    distributed.barrier()
    if distributed.get_rank() == 2:
        os._exit(0)
    if distributed.get_rank() == 0:
        distributed.barrier()


def main():
    folder, *ports = sys.argv[1:]
    answers = {}
    for function, port in zip((barrier_or_call, killed), ports, strict=True):
        os.environ["MASTER_PORT"] = port
        start = time.monotonic()
        try:
            distributed.auto_init_rpc()(function)()
            text = "nothing was raised"
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        answers[function.__name__] = text, time.monotonic() - start
        file = pathlib.Path(folder) / f"{os.environ['RANK']}.json"
        file.write_text(json.dumps(answers))


main()
