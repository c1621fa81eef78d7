"""Optimizers of parameters on other workers, with `torch.distributed.rpc`.

`FunctionalAdamW` etc., one for each class of `updraft.optim`, receive gradients as arguments.
"""

from .distributed_optimizer import DistributedOptimizer
from .functional import FunctionalOptimizer
from .functional_classes import functional_class_named
from .options import Options
from .parameters import collect_parameters, parameter_rrefs
from .registry import (
    as_functional_optim,
    functional_optim_map,
    install,
    register_functional_optim,
    uninstall,
)
from .remote import RemoteOptimizer

__all__ = [
    "DistributedOptimizer",
    "FunctionalOptimizer",
    "Options",
    "RemoteOptimizer",
    "as_functional_optim",
    "collect_parameters",
    "functional_optim_map",
    "install",
    "parameter_rrefs",
    "register_functional_optim",
    "uninstall",
]


def __getattr__(name: str) -> type[FunctionalOptimizer]:
    return functional_class_named(name)
