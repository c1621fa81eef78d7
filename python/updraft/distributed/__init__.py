"""Calls and gradients across processes, on torch's RPC.

    from updraft import distributed

    @distributed.parallelize()
    def loss(model, batch): ...

    @distributed.auto_init_rpc()
    def main(): ...

Start it with `torchrun`. `docs/distributed.md` has the details. `updraft.distributed.grpc` is a
client of parameter servers, and works without torch too.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or find_spec("torch") is not None:
    from .on_torch import *  # noqa: F403

__all__ = [
    "DistributedError",
    "Part",
    "TensorDimensionPartitioner",
    "WorldInfo",
    "assign_parameter",
    "auto_init_rpc",
    "autograd",
    "backend",
    "barrier",
    "batch_partitioner",
    "dim_partitioner",
    "drop_parameter",
    "exclusive_batch_partitioner",
    "get_local_rank",
    "get_local_world_size",
    "get_rank",
    "get_worker_id",
    "get_world_info",
    "get_world_rank",
    "get_world_size",
    "held_parameters",
    "hold_parameter",
    "is_available",
    "lock_wait",
    "mean_reducer",
    "module_clone",
    "not_on_rank",
    "on_rank",
    "parallelize",
    "parallelize_async",
    "parallelize_sync",
    "parameter",
    "rank_all",
    "rank_non_zero_only",
    "rank_zero_only",
    "remote_async_call",
    "remote_sync_call",
    "sum_reducer",
    "synchronize",
]


def __getattr__(name: str) -> Any:
    """Says that a name needs torch, where it is not installed."""
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from .. import torch_presence  # noqa: F401  (raises the error)
