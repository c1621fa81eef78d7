"""Steps parameters of another process on command, for updraft-bench.

This is the client of a world of two, and it starts the other process. Besides the commands of
peer.py, it has a command that makes a contestant:

    make OPTIMIZER IMPL:SPINNING GRADS DTYPE TENSORS ELEMENTS JSON

IMPL is `updraft`; `functional` or `eager`, torch's own with or without its functional optimizers;
or `empty`, a call of an operator that does almost nothing. SPINNING is the number of threads of the
worker that run Python all the time. An untimed forward and backward precede each step.

usage: distributed_peer.py THREADS TRANSPORT; TRANSPORT is one of TensorPipe's, or `any`
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import warnings

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from peer import Stepped, serve
from torch.distributed.optim.utils import functional_optim_map

WORKER = "worker"


def parameter(seed, elements):
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.Parameter(torch.rand(elements, generator=generator))


def total(rrefs, factor):
    return sum(rref.local_value().sum() for rref in rrefs) * factor


class Spinning:
    """Threads that run Python all the time."""

    def __init__(self):
        self.wanted = 0
        self.threads = []

    def spin(self, number):
        while number < self.wanted:
            pass

    def set(self, count):
        self.wanted, before = count, self.threads
        for thread in before[count:]:
            thread.join()
        self.threads = before[:count]
        for number in range(len(self.threads), count):
            thread = threading.Thread(target=self.spin, args=(number,), daemon=True)
            self.threads.append(thread)
            thread.start()


spinning = Spinning()


def spin(count):
    spinning.set(count)


class Distributed(Stepped):
    """A step on the worker, with a new context each time."""

    def __init__(self, make, spinning, tensors, elements):
        self.spinning = spinning
        self.rrefs = [
            rpc.remote(WORKER, parameter, args=(seed, elements)) for seed in range(tensors)
        ]
        for rref in self.rrefs:
            rref.to_here()
        self.optimizer = make(self.rrefs)
        self.context = None
        self.prepare()
        self.step()

    def prepare(self):
        # Start after the forward, which would wait for the spinning threads.
        rpc.rpc_sync(WORKER, spin, args=(0,))
        if self.context is not None:
            self.context.__exit__(None, None, None)
        self.context = dist_autograd.context()
        self.number = self.context.__enter__()
        factor = torch.ones((), requires_grad=True)
        loss = rpc.rpc_sync(WORKER, total, args=(self.rrefs, factor))
        dist_autograd.backward(self.number, [loss])
        rpc.rpc_sync(WORKER, spin, args=(self.spinning,))

    def step(self):
        self.optimizer.step(self.number)
        self.context.__exit__(None, None, None)
        self.context = None


class Empty(Stepped):
    """An operator call without work."""

    def __init__(self, spinning):
        from updraft.distributed.optim import operators

        self.operators, self.spinning = operators, spinning
        self.worker = rpc.get_worker_info(WORKER)

    def prepare(self):
        rpc.rpc_sync(WORKER, spin, args=(self.spinning,))

    def step(self):
        self.operators.call(self.worker, "release", 0, timeout=-1).wait()


def make(optimizer, implementation, grads, dtype, tensors, elements, arguments):
    implementation, spinning = implementation.split(":")
    spinning = int(spinning)
    if implementation == "empty":
        return Empty(spinning)
    kind, options = getattr(torch.optim, optimizer), json.loads(arguments)
    if implementation == "updraft":
        from updraft.distributed.optim import DistributedOptimizer
    else:
        from torch.distributed.optim import DistributedOptimizer

    def optimizer_of(rrefs):
        if implementation != "eager":
            return DistributedOptimizer(kind, rrefs, **options)
        functional = functional_optim_map.pop(kind)
        try:
            return DistributedOptimizer(kind, rrefs, **options)
        finally:
            functional_optim_map[kind] = functional

    return Distributed(optimizer_of, spinning, int(tensors), int(elements))


def join(store, rank, threads, transport):
    warnings.simplefilter("ignore")
    torch.set_num_threads(threads)
    options = rpc.TensorPipeRpcBackendOptions(
        init_method=f"file://{store}",
        num_worker_threads=8,
        _transports=None if transport == "any" else [transport],
    )
    name = WORKER if rank else "client"
    rpc.init_rpc(name, rank=rank, world_size=2, rpc_backend_options=options)


def main():
    threads, transport = int(sys.argv[1]), sys.argv[2]
    if len(sys.argv) == 4:
        join(sys.argv[3], 1, threads, transport)
        rpc.shutdown()
        return
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("TP_SOCKET_IFNAME", "lo")
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")  # noqa: PTH118
        worker = subprocess.Popen(
            [sys.executable, __file__, *sys.argv[1:3], store], stdin=subprocess.DEVNULL
        )
        try:
            join(store, 0, threads, transport)
            made = []
            serve(lambda: "", {"make": make}, made)
            made.clear()
            rpc.shutdown()
        finally:
            worker.kill()
            worker.wait()


if __name__ == "__main__":
    main()
