"""The names of `updraft.distributed` that need torch."""

from .. import torch_presence  # noqa: F401  (before the modules that import torch)

# isort: split
from . import (
    autograd as autograd,
)
from . import (
    backend as backend,
)
from .calls import (
    remote_async_call as remote_async_call,
)
from .calls import (
    remote_sync_call as remote_sync_call,
)
from .cloning import (
    module_clone as module_clone,
)
from .errors import (
    DistributedError as DistributedError,
)
from .held import (
    assign_parameter as assign_parameter,
)
from .held import (
    drop_parameter as drop_parameter,
)
from .held import (
    held_parameters as held_parameters,
)
from .held import (
    hold_parameter as hold_parameter,
)
from .held import (
    lock_wait as lock_wait,
)
from .held import (
    parameter as parameter,
)
from .launch import (
    auto_init_rpc as auto_init_rpc,
)
from .meeting import (
    barrier as barrier,
)
from .meeting import (
    synchronize as synchronize,
)
from .parallel import (
    parallelize as parallelize,
)
from .parallel import (
    parallelize_async as parallelize_async,
)
from .parallel import (
    parallelize_sync as parallelize_sync,
)
from .partition import (
    Part as Part,
)
from .partition import (
    TensorDimensionPartitioner as TensorDimensionPartitioner,
)
from .partition import (
    batch_partitioner as batch_partitioner,
)
from .partition import (
    dim_partitioner as dim_partitioner,
)
from .partition import (
    exclusive_batch_partitioner as exclusive_batch_partitioner,
)
from .reducers import (
    mean_reducer as mean_reducer,
)
from .reducers import (
    sum_reducer as sum_reducer,
)
from .selection import (
    not_on_rank as not_on_rank,
)
from .selection import (
    on_rank as on_rank,
)
from .selection import (
    rank_all as rank_all,
)
from .selection import (
    rank_non_zero_only as rank_non_zero_only,
)
from .selection import (
    rank_zero_only as rank_zero_only,
)
from .world import (
    WorldInfo as WorldInfo,
)
from .world import (
    get_local_rank as get_local_rank,
)
from .world import (
    get_local_world_size as get_local_world_size,
)
from .world import (
    get_rank as get_rank,
)
from .world import (
    get_worker_id as get_worker_id,
)
from .world import (
    get_world_info as get_world_info,
)
from .world import (
    get_world_rank as get_world_rank,
)
from .world import (
    get_world_size as get_world_size,
)
from .world import (
    is_available as is_available,
)
