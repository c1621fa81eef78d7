"""This worker and the others in its world."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from torch.distributed import rpc

from ..errors import InvalidArgumentError
from ..torch_private import rpc_agent, rpc_is_running
from .errors import DistributedError

WorkerNameFormat = Callable[..., str]
#: A worker: its number, its name, or torch's description.
Worker: TypeAlias = int | str | rpc.WorkerInfo


def default_worker_name_format(
    world_rank: int, world_size: int, local_rank: int, local_world_size: int
) -> str:
    """Names the workers `worker0`, `worker1`, and so on."""
    return f"worker{world_rank}"


# The format of the current `auto_init_rpc`.
name_format: WorkerNameFormat = default_worker_name_format


class WorldInfo(NamedTuple):
    """This worker's place in the world.

    Args:
        world_rank: the number of this worker among all, from 0.
        world_size: the number of workers.
        local_rank: the number of this worker among those of this machine, from 0.
        local_world_size: the number of workers of this machine.

    Example:
        >>> updraft.distributed.get_world_info()
        WorldInfo(world_rank=0, world_size=1, local_rank=0, local_world_size=1)
    """

    world_rank: int
    world_size: int
    local_rank: int
    local_world_size: int

    @property
    def rank(self) -> int:
        """The same as `world_rank`."""
        return self.world_rank

    @property
    def worker_name(self) -> str:
        """The name of this worker, for calls from others."""
        return name_format(**self._asdict())


VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


def _number(name: str) -> int:
    text = os.environ[name]
    if not text.isdecimal():
        raise DistributedError(
            f"the environment variable `{name}` is `{text}`; it must be a number, as torchrun"
            " sets it"
        )
    return int(text)


def is_available() -> bool:
    """Returns whether this torch was built with RPC."""
    import torch.distributed.rpc

    return torch.distributed.is_available() and torch.distributed.rpc.is_available()


def get_world_info() -> WorldInfo:
    """Returns this worker's place in the world, from the environment that torchrun sets.

    Without torchrun, the process is the only worker.
    """
    if "RANK" not in os.environ and "WORLD_SIZE" not in os.environ:
        return WorldInfo(0, 1, 0, 1)
    missing = [f"`{name}`" for name in VARIABLES if name not in os.environ]
    if missing:
        raise DistributedError(
            f"the environment lacks {' and '.join(missing)}; start the program with torchrun, which"
            " sets " + ", ".join(f"`{name}`" for name in VARIABLES)
        )
    info = WorldInfo(*map(_number, VARIABLES))
    for rank, size in ((0, 1), (2, 3)):
        if info[rank] >= info[size]:
            raise DistributedError(
                f"the environment variable `{VARIABLES[rank]}` is {info[rank]} and"
                f" `{VARIABLES[size]}` is {info[size]}; ranks count from 0"
            )
    return info


def get_world_rank() -> int:
    """Returns the number of this worker among all, from 0."""
    return get_world_info().world_rank


get_rank = get_world_rank


def get_world_size() -> int:
    """Returns the number of workers."""
    return get_world_info().world_size


def get_local_rank() -> int:
    """Returns the number of this worker among those of its machine, for example to choose a GPU."""
    return get_world_info().local_rank


def get_local_world_size() -> int:
    """Returns the number of workers of this machine."""
    return get_world_info().local_world_size


def checked_rank(rank: Any, what: str = "worker id") -> int:
    """Returns `rank` if it isn't negative."""
    if isinstance(rank, bool) or not isinstance(rank, int):
        raise TypeError(f"the {what} is `{rank!r}`; it must be an int")
    if rank < 0:
        raise InvalidArgumentError(f"the {what} is {rank}; workers count from 0")
    return rank


def get_worker_id(id: Worker | None = None) -> int:
    """Returns the number of a worker.

    Args:
        id: its name, its `WorkerInfo`, or its number, which is checked and returned. None for this
            worker.

    Example:
        >>> updraft.distributed.get_worker_id()
        0
    """
    if id is None:
        return get_world_rank()
    if isinstance(id, str):
        return _worker_named(id)
    if isinstance(id, rpc.WorkerInfo):
        id = int(id.id)
    # `init_rpc` may have created the world without torchrun.
    known = workers() if rpc_is_running() else range(get_world_size())
    if checked_rank(id) not in known:
        raise InvalidArgumentError(f"unknown worker {id}; the world has {len(known)}")
    return id


def require_rpc() -> None:
    """Raises an error unless RPC is running."""
    if not rpc_is_running():
        raise DistributedError(
            "RPC is not running; call this within a function with `auto_init_rpc`, or after"
            " `torch.distributed.rpc.init_rpc`"
        )


def workers() -> dict[int, rpc.WorkerInfo]:
    """Returns all workers, ordered by number."""
    require_rpc()
    infos = rpc_agent().get_worker_infos()
    return {info.id: info for info in sorted(infos, key=lambda info: info.id)}


def worker_info(worker: Worker) -> rpc.WorkerInfo:
    """Returns torch's description of a worker."""
    return workers()[get_worker_id(worker)]


def _worker_named(name: str) -> int:
    names = {info.name: number for number, info in workers().items()}
    if name not in names:
        raise InvalidArgumentError(
            f"unknown worker `{name}`; there are " + ", ".join(f"`{known}`" for known in names)
        )
    return names[name]
