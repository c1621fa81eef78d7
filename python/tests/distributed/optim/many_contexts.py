"""Opens, steps and closes many contexts: `torchrun … many_contexts.py --contexts N --threads T`.

Starts with few threads and measures the memory now and then, and then uses many threads. Prints the
results as JSON. The test suite runs few contexts with large gradients. A longer manual run:

    many_contexts.py --size 8 --contexts 100000 --contexts-of-thread 1000
"""

import argparse
import json
import threading
import time

import torch
import torch.distributed.autograd as dist_autograd
from torch.distributed import rpc

from updraft import distributed
from updraft.distributed.optim import DistributedOptimizer

SAMPLES = 5


def resident():
    """The bytes of this process alone, without shared memory for messages."""
    with open("/proc/self/status") as status:
        [line] = [line for line in status if line.startswith("RssAnon:")]
    return int(line.split()[1]) * 1024


def open_contexts():
    return int(dist_autograd._get_debug_info()["num_autograd_contexts"])


def everywhere(function):
    return [rpc.rpc_sync(worker, function) for worker in range(distributed.get_world_size())]


def hold(name, size):
    """A parameter of zeros on each of the other workers."""
    workers = range(1, distributed.get_world_size())
    return [distributed.hold_parameter(worker, name, torch.zeros(1, size)) for worker in workers]


def step_once(optimizer, rrefs, inputs):
    """One context, in which every element of each parameter has the gradient 1."""
    with dist_autograd.context() as context:
        outputs = [
            distributed.remote_sync_call("linear", args=(inputs, rref), partitioner=rref.owner())[0]
            for rref in rrefs
        ]
        dist_autograd.backward(context, [sum(outputs).sum()])
        optimizer.step(context)


def in_threads(threads, count, optimizers, rrefs, inputs):
    """Runs that many contexts in each thread; returns errors."""
    errors = []

    def run(number):
        try:
            for _ in range(count):
                step_once(optimizers[number % len(optimizers)], rrefs, inputs)
        except Exception as error:
            errors.append(repr(error))

    running = [threading.Thread(target=run, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return errors


def wrong(rrefs, value):
    return sum(int((rref.to_here() != value).sum()) for rref in rrefs)


def in_few_threads(count, size, threads=8):
    """Returns the growth of all workers' memory, and other results."""
    rrefs, inputs = hold("some", size), torch.ones(1, size)
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0)
    errors, start, each = [], time.perf_counter(), count // SAMPLES // threads
    memory = [everywhere(resident)]
    for _ in range(SAMPLES):
        errors += in_threads(threads, each, [optimizer], rrefs, inputs)
        memory.append(everywhere(resident))
    done = SAMPLES * each * threads
    return {
        "contexts": done,
        "seconds": time.perf_counter() - start,
        "memory": memory,
        "errors": errors,
        "wrong": wrong(rrefs, -done),
        "remembered": len(optimizer._applied),
    }


def in_many_threads(threads, count):
    rrefs, inputs = hold("small", 8), torch.ones(1, 8)
    # Some threads share an optimizer, and all share the parameters.
    optimizers = [DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0) for _ in range(4)]
    start = time.perf_counter()
    errors = in_threads(threads, count, optimizers, rrefs, inputs)
    return {
        "contexts": threads * count,
        "seconds": time.perf_counter() - start,
        "errors": errors,
        "wrong": wrong(rrefs, -threads * count),
        "waited": [distributed.lock_wait(rref.owner()) for rref in rrefs],
        "memory": everywhere(resident),
    }


@distributed.rank_zero_only
def run(arguments):
    found = {"few threads": in_few_threads(arguments.contexts, arguments.size)}
    print(json.dumps(found), flush=True)
    found["many threads"] = in_many_threads(arguments.threads, arguments.contexts_of_thread)
    # The last ones are closed by messages that aren't waited for.
    for _ in range(100):
        found["open contexts"] = everywhere(open_contexts)
        if not any(found["open contexts"]):
            break
        time.sleep(0.1)
    print(json.dumps(found), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--contexts", type=int, default=1500)
    parser.add_argument("--size", type=int, default=10_000, help="elements of a parameter")
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--contexts-of-thread", type=int, default=20)
    arguments = parser.parse_args()
    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=arguments.threads + 2)
    one_thread = distributed.auto_init_rpc(
        lambda: torch.set_num_threads(1), rpc_backend_options=options
    )
    one_thread(run)(arguments)


if __name__ == "__main__":
    main()
