"""Measures once per process, for updraft-bench, and prints numbers.

    process_probe.py import                                   ms
    process_probe.py first-step CLASS TENSORS                 ms more than a later step, ms of one
    process_probe.py memory MODULE CLASS ELEMENTS THREADS     bytes per parameter byte; ms

The process imports nothing else, and the step's compilation is not in any cache.
"""

import os
import pathlib
import statistics
import sys
import time


def milliseconds(function):
    started = time.perf_counter()
    function()
    return (time.perf_counter() - started) * 1e3


def import_time():
    started = time.perf_counter()
    import updraft  # noqa: F401

    took = (time.perf_counter() - started) * 1e3
    if "torch" in sys.modules:
        raise RuntimeError("updraft has imported torch")
    return (took,)


def first_step(name, tensors):
    """Includes the time of construction beyond torch's simplest class, because it may compile."""
    import torch

    import updraft.optim

    params = [torch.nn.Parameter(torch.rand(8, 8)) for _ in range(int(tensors))]
    for param in params:
        grad = torch.rand(8, 8)
        param.grad = grad.to_sparse(1) if name == "SparseAdam" else grad
    chosen = getattr(updraft.optim, name)
    # Torch imports its compiler for the first optimizer of a process.
    torch.optim.SGD(params)
    plain = statistics.median(milliseconds(lambda: torch.optim.SGD(params)) for _ in range(3))
    made = []
    constructed = milliseconds(lambda: made.append(chosen(params)))
    (optimizer,) = made
    first = milliseconds(optimizer.step)
    later = statistics.median(milliseconds(optimizer.step) for _ in range(5))
    return constructed - plain + first - later, later


def resident(key):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"the system does not say {key}")


def memory(module, name, elements, threads):
    """The peak memory of a step beyond the resident memory before it, when states exist already."""
    import torch

    import updraft.optim

    torch.set_num_threads(int(threads))
    # A square matrix, for rules that have other states for matrices.
    side = int(int(elements) ** 0.5)
    param = torch.nn.Parameter(torch.rand(side, side))
    param.grad = torch.rand(side, side)
    chosen = getattr({"torch": torch.optim, "updraft": updraft.optim}[module], name)
    optimizer = chosen([param])
    optimizer.step()
    before = resident("VmRSS")
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # resets the peak to the resident memory
    took = milliseconds(optimizer.step)
    return (resident("VmHWM") - before) / (4 * side * side), took


PROBES = {"import": import_time, "first-step": first_step, "memory": memory}


if __name__ == "__main__":
    os.environ["UPDRAFT_CACHE_DIR"] = ""
    print(*PROBES[sys.argv[1]](*sys.argv[2:]))
