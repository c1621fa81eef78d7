"""A process of a group: calls the functions that it is told to on stdin."""

import importlib
import json
import pathlib
import sys
import traceback

import torch


def call(task, rank, world):
    module = importlib.import_module(task["module"])
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{task['store']}", rank=rank, world_size=world
    )
    try:
        getattr(module, task["function"])(pathlib.Path(task["folder"]))
    finally:
        torch.distributed.destroy_process_group()


def main():
    rank, world = map(int, sys.argv[1:3])
    # pytest names the modules of tests relative to this folder.
    sys.path[0] = sys.argv[3]
    torch.set_num_threads(1)
    answers = sys.stdout
    sys.stdout = sys.stderr
    for line in sys.stdin:
        try:
            call(json.loads(line), rank, world)
            answer = None
        except Exception:
            answer = traceback.format_exc()
        print(json.dumps(answer), file=answers, flush=True)


main()
