"""The client of a world whose other member, `ps`, may take packages.

Trains a held parameter with the rule in each file that is given. With `--as-text`, the rule's text
begins like a package. Prints the results as JSON: the parameter's values, or the error's text.
"""

import json
import sys

import torch
import torch.distributed.autograd as dist_autograd
from joining import join
from torch.distributed import rpc

import updraft
from updraft import distributed
from updraft.definition import FileDefinition
from updraft.distributed.optim import DistributedOptimizer
from updraft.shipped import require_path
from updraft.tracing.source import Source


class Disguised(FileDefinition):
    """Sends the beginning of a package as a rule's text."""

    def compile(self, **options):
        return updraft.load("SGD").compile(**options)

    def _source(self, statics):
        return Source(b"UPDPACK\0", [])


def trained(rule, name):
    """The values of a parameter after three steps on the worker."""
    rref = distributed.hold_parameter("ps", name, torch.linspace(-1, 1, 5))
    optimizer = DistributedOptimizer(rule, [rref], lr=0.1)
    for _ in range(3):
        with dist_autograd.context() as context:
            dist_autograd.backward(context, [rref.to_here().sin().sum()])
            optimizer.step(context)
    return rref.to_here().tolist()


def main():
    join()
    results = []
    paths = sys.argv[1:]
    rules = [updraft.load(path) for path in paths if path != "--as-text"]
    if "--as-text" in paths:
        rules = [Disguised(require_path("SGD"), None, {})]
    for number, rule in enumerate(rules):
        try:
            results.append(trained(rule, f"parameter{number}"))
        except Exception as error:
            results.append(str(error))
    print(json.dumps(results))
    rpc.shutdown()


main()
