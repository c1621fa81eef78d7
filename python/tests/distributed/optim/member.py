"""A process of the world of `process_world.py`: `member.py STORE RANK WORLD`."""

import importlib
import json
import os
import pathlib
import sys
import traceback

import torch.distributed.rpc as rpc


def main(store, rank, world):
    answers = os.fdopen(os.dup(1), "w")
    # What is printed does not get among the answers.
    os.dup2(2, 1)
    options = rpc.TensorPipeRpcBackendOptions(
        init_method=f"file://{store}", num_worker_threads=16, rpc_timeout=60
    )
    name = "client" if rank == 0 else f"worker{rank}"
    rpc.init_rpc(name, rank=rank, world_size=world, rpc_backend_options=options)
    if rank > 0:
        rpc.shutdown()
        return
    answer(answers, None)
    for line in sys.stdin:
        task = json.loads(line)
        try:
            module = importlib.import_module(task["module"])
            getattr(module, task["function"]).on_client(pathlib.Path(task["folder"]))
            complaint = None
        except BaseException:
            complaint = traceback.format_exc()
        answer(answers, complaint)


def answer(answers, complaint):
    answers.write(json.dumps(complaint) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
