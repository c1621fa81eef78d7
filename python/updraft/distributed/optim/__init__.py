"""Optimizers of parameters that lie on other workers, on `torch.distributed.rpc`.

`FunctionalAdamW` and the like, one for each class of `updraft.optim`, are given gradients.
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
