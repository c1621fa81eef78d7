"""Trains parameters of all workers but the first: `torchrun … checkpoints.py save|load FOLDER`.

Saves and loads with `torch.distributed.checkpoint` and the process group of `auto_init_rpc`: all
workers take part, but only the first has states. Prints the parameters after two more steps.
"""

import json
import sys

import torch
import torch.distributed.autograd as dist_autograd
from torch.distributed import checkpoint

from updraft import distributed
from updraft.distributed.optim import DistributedOptimizer, collect_parameters

COUNT, SIZE = 5, 6


def step(optimizer, rrefs, times):
    for _ in range(times):
        with dist_autograd.context() as context:
            outputs = [
                distributed.remote_sync_call(
                    "linear",
                    args=(torch.linspace(-1, 1, SIZE)[None], rref),
                    partitioner=rref.owner(),
                )[0]
                for rref in rrefs
            ]
            dist_autograd.backward(context, [sum(outputs).square().sum()])
            optimizer.step(context)


def made():
    """The optimizer and its parameters, distributed over the workers in turns."""
    others = distributed.get_world_size() - 1
    torch.manual_seed(0)
    rrefs = [
        distributed.hold_parameter(1 + number % others, f"p{number}", torch.randn(1, SIZE))
        for number in range(COUNT)
    ]
    return DistributedOptimizer(torch.optim.AdamW, rrefs, lr=0.1), rrefs


def save(folder):
    saved = {}
    if distributed.get_rank() == 0:
        optimizer, rrefs = made()
        step(optimizer, rrefs, 2)
        saved = {"params": collect_parameters(rrefs), "optimizer": optimizer.state_dict()}
    checkpoint.save(saved, checkpoint_id=folder)
    return (optimizer, rrefs) if distributed.get_rank() == 0 else None


def load(folder):
    loaded = {}
    if distributed.get_rank() == 0:
        optimizer, rrefs = made()
        # Loading writes into existing tensors.
        step(optimizer, rrefs, 1)
        loaded = {"params": collect_parameters(rrefs), "optimizer": optimizer.state_dict()}
    checkpoint.load(loaded, checkpoint_id=folder)
    if distributed.get_rank() != 0:
        return None
    for number, (rref, value) in enumerate(zip(rrefs, loaded["params"], strict=True)):
        distributed.assign_parameter(rref.owner(), f"p{number}", value)
    optimizer.load_state_dict(loaded["optimizer"])
    return optimizer, rrefs


@distributed.auto_init_rpc(lambda: torch.set_num_threads(1))
def main():
    ways = {"save": save, "load": load}
    found = ways[sys.argv[1]](sys.argv[2])
    if found is not None:
        optimizer, rrefs = found
        step(optimizer, rrefs, 2)
        print(json.dumps([value.tolist() for value in collect_parameters(rrefs)]))


if __name__ == "__main__":
    main()
