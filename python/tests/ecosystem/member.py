"""One process of a group: calls the functions that it is told to on its standard input."""

import json
import pathlib
import runpy
import sys
import traceback

import torch


def call(task, rank, world):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{task['store']}", rank=rank, world_size=world
    )
    try:
        runpy.run_path(task["file"])[task["function"]](pathlib.Path(task["folder"]))
    finally:
        torch.distributed.destroy_process_group()


def main():
    rank, world = map(int, sys.argv[1:])
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
