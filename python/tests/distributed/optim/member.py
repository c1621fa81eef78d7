"""A process of the world of `process_world.py`: `member.py STORE RANK WORLD FAULTS`."""

import importlib
import json
import os
import pathlib
import sys
import traceback

import torch.distributed.rpc as rpc


def agent(store, faults):
    """The backend and its options."""
    usual = {"init_method": f"file://{store}", "num_worker_threads": 16, "rpc_timeout": 60}
    if faults is None:
        return rpc.BackendType.TENSORPIPE, rpc.TensorPipeRpcBackendOptions(**usual)
    # Registers it.
    import torch.distributed.rpc._testing  # noqa: F401

    backend = rpc.backend_registry.BackendType["FAULTY_TENSORPIPE"]
    options = rpc.backend_registry.construct_rpc_backend_options(backend, **usual, **faults)
    return backend, options


def main(store, rank, world, faults):
    answers = os.fdopen(os.dup(1), "w")
    # What is printed does not get among the answers.
    os.dup2(2, 1)
    name = "client" if rank == 0 else f"worker{rank}"
    backend, options = agent(store, faults)
    rpc.init_rpc(name, backend, rank=rank, world_size=world, rpc_backend_options=options)
    if rank > 0:
        rpc.shutdown()
        return
    answer(answers, None)
    for line in sys.stdin:
        task = json.loads(line)
        try:
            module = importlib.import_module(task["module"])
            function = getattr(module, task["function"])
            function.on_client(pathlib.Path(task["folder"]), **task["given"])
            complaint = None
        except BaseException:
            complaint = traceback.format_exc()
        answer(answers, complaint)


def answer(answers, complaint):
    answers.write(json.dumps(complaint) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4]))
