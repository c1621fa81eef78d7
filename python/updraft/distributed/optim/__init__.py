"""Optimizers of parameters that lie on other workers, on `torch.distributed.rpc`."""

from .distributed_optimizer import DistributedOptimizer
from .options import Options
from .remote import RemoteOptimizer

__all__ = ["DistributedOptimizer", "Options", "RemoteOptimizer"]
