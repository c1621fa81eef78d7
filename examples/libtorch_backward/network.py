"""Steps each parameter as its gradient arrives in the backward, as network.cpp does.

Trains a network twice from the same start, each time in a process of its own: with one step after
the backward, and with a step of each parameter in its hook, which frees the gradient. Prints the
memory that each needed besides parameters and states, and the last losses, which are the same.
"""

import argparse
import multiprocessing
import os
import pathlib

import torch

from updraft import optim

LAYERS = 8
WIDTH = 1024
BATCH = 16
STEPS = 5


def resident(field: str) -> int:
    """Returns the process's memory in bytes: now (`VmRSS`) or at most (`VmHWM`)."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split(field + ":")[1].split()[0]) * 1024


def train(in_backward: bool) -> tuple[float, int]:
    """Returns the last loss, and by how many bytes the process grew after the first step."""
    torch.manual_seed(1)
    layers = [torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]
    network = torch.nn.Sequential(*layers)
    inputs, targets = torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)
    params = list(network.parameters())
    optimizers = {}
    if in_backward:

        def step(param: torch.Tensor) -> None:
            optimizers[param].step()
            param.grad = None

        for param in params:
            optimizers[param] = optim.AdamW([param], lr=1e-3)
            param.register_post_accumulate_grad_hook(step)
    else:
        optimizer = optim.AdamW(params, lr=1e-3)

    before = 0
    for index in range(STEPS):
        if index == 1:
            pathlib.Path("/proc/self/clear_refs").write_text("5")  # VmHWM starts anew
            before = resident("VmRSS")
        loss = torch.nn.functional.mse_loss(network(inputs), targets)
        loss.backward()
        if not in_backward:
            optimizer.step()
            optimizer.zero_grad()
    return loss.item(), resident("VmHWM") - before


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    # The allocator returns the memory of tensors to the system as soon as they are freed.
    os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"
    results = []
    for in_backward in (False, True):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            results.append(pool.apply(train, (in_backward,)))
    gradients = LAYERS * (WIDTH + 1) * WIDTH * 4
    (after, memory_after), (during, memory_during) = results
    print(f"gradients             {gradients / 2**20:7.1f} MiB")
    print(f"step after backward   {memory_after / 2**20:7.1f} MiB, loss {after:.9g}")
    print(f"steps in the backward {memory_during / 2**20:7.1f} MiB, loss {during:.9g}")
    print(f"saved                 {(memory_after - memory_during) / 2**20:7.1f} MiB")


if __name__ == "__main__":
    main()
