"""Calls and gradients across processes, on torch's RPC.

    from updraft import distributed

    @distributed.parallelize()
    def loss(model, batch): ...

    @distributed.auto_init_rpc()
    def main(): ...

Start it with `torchrun`. `docs/distributed.md` has the details.
"""

from .. import torch_presence  # noqa: F401  (before the modules that import torch)

# isort: split
from . import autograd, backend
from .calls import remote_async_call, remote_sync_call
from .cloning import module_clone
from .errors import DistributedError
from .held import (
    assign_parameter,
    drop_parameter,
    held_parameters,
    hold_parameter,
    lock_wait,
    parameter,
)
from .launch import auto_init_rpc
from .meeting import barrier, synchronize
from .parallel import parallelize, parallelize_async, parallelize_sync
from .partition import (
    Part,
    TensorDimensionPartitioner,
    batch_partitioner,
    dim_partitioner,
    exclusive_batch_partitioner,
)
from .reducers import mean_reducer, sum_reducer
from .selection import not_on_rank, on_rank, rank_all, rank_non_zero_only, rank_zero_only
from .world import (
    WorldInfo,
    get_local_rank,
    get_local_world_size,
    get_rank,
    get_worker_id,
    get_world_info,
    get_world_rank,
    get_world_size,
    is_available,
)

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
