"""The processes of the world of `process_world.py`: `member.py STORE WORLD FAULTS`.

This process is the client. It forks the workers after it has imported torch.
"""

import ctypes
import importlib
import json
import os
import pathlib
import signal
import sys
import traceback

# The modules that optimizers import when the first one is created.
import torch.distributed.rpc as rpc

import updraft.distributed.optim  # noqa: F401

PR_SET_PDEATHSIG = 1
# Whether a process has ended. It isn't reaped, so it can be asked again.
ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT


def agent(store, faults):
    """The backend and its options."""
    usual = {"init_method": f"file://{store}", "num_worker_threads": 16, "rpc_timeout": 60}
    if faults is None:
        return rpc.BackendType.TENSORPIPE, rpc.TensorPipeRpcBackendOptions(**usual)
    # Registers the backend.
    import torch.distributed.rpc._testing  # noqa: F401

    backend = rpc.backend_registry.BackendType["FAULTY_TENSORPIPE"]
    options = rpc.backend_registry.construct_rpc_backend_options(backend, **usual, **faults)
    return backend, options


def join(store, rank, world, faults):
    name = "client" if rank == 0 else f"worker{rank}"
    backend, options = agent(store, faults)
    rpc.init_rpc(name, backend, rank=rank, world_size=world, rpc_backend_options=options)


def main(store, world, faults):
    workers = []
    for rank in range(1, world):
        worker = os.fork()
        if worker == 0:
            # A worker exits if its client is killed.
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            join(store, rank, world, faults)
            rpc.shutdown()
            return
        workers.append(worker)
    answers = os.fdopen(os.dup(1), "w")
    # Keeps printed text separate from the answers.
    os.dup2(2, 1)
    join(store, 0, world, faults)
    answer(answers, workers, None)
    for line in sys.stdin:
        task = json.loads(line)
        try:
            module = importlib.import_module(task["module"])
            function = getattr(module, task["function"])
            function.on_client(pathlib.Path(task["folder"]), **task["given"])
            complaint = None
        except BaseException:
            complaint = traceback.format_exc()
        answer(answers, workers, complaint)


def answer(answers, workers, complaint):
    """Reports what failed, and whether the world is still complete."""
    whole = all(os.waitid(os.P_PID, worker, ENDED) is None for worker in workers)
    answers.write(json.dumps([complaint, whole]) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]))
