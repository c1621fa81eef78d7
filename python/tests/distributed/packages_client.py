"""The client of a world whose other member, `ps`, may take packages.

Trains a held parameter with the rule in each file that is given. Prints the results as JSON: the
parameter's values, or the text of the error.
"""

import json
import sys

import torch
import torch.distributed.autograd as dist_autograd
from joining import join
from torch.distributed import rpc

import updraft
from updraft import distributed
from updraft.distributed.optim import DistributedOptimizer


def trained(path, name):
    """The values of a parameter after three steps on the worker."""
    rref = distributed.hold_parameter("ps", name, torch.linspace(-1, 1, 5))
    optimizer = DistributedOptimizer(updraft.load(path), [rref], lr=0.1)
    for _ in range(3):
        with dist_autograd.context() as context:
            dist_autograd.backward(context, [rref.to_here().sin().sum()])
            optimizer.step(context)
    return rref.to_here().tolist()


def main():
    join()
    results = []
    for number, path in enumerate(sys.argv[1:]):
        try:
            results.append(trained(path, f"parameter{number}"))
        except Exception as error:
            results.append(str(error))
    print(json.dumps(results))
    rpc.shutdown()


main()
