"""The backend `UPDRAFT` of torch's RPC, whose worlds may have members without Python.

With torch's own backend, each member calls Python functions of the others when it joins or leaves.
Here, members coordinate only through the store. Every Python member must use this backend:

    rpc.init_rpc("trainer0", backend=rpc.BackendType.UPDRAFT, rank=0, world_size=2)
"""

import atexit
import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import rpc

from ..errors import UnsupportedError
from ..torch_private import ATTRIBUTES, init_rpc_states
from . import membership
from .errors import DistributedError

NAME = "UPDRAFT"
# Keys of the store, as in tools/updraft-torch-worker/Membership.cpp: the world size of the first
# member, the prefix of a key for each rank that has joined, and the number of members that have
# left. The member that hosts the store keeps it until all have left, or for _LINGER seconds.
_SIZE = "updraft_world_size"
_MEMBER = "updraft_member/"
_LEFT = "updraft_left"
_LINGER = 5.0


def _make_options(rpc_timeout: float, init_method: str, **kwargs: Any) -> Any:
    return Options(rpc_timeout=rpc_timeout, init_method=init_method, **kwargs)


def _leave(store: Any, is_host: bool, world_size: int) -> None:
    membership.leave()
    # The host may be gone. Then nobody needs the count.
    with contextlib.suppress(RuntimeError):
        store.set_timeout(timedelta(seconds=_LINGER))
        store.add(_LEFT, 1)
        end = time.monotonic() + _LINGER
        while is_host and store.add(_LEFT, 0) < world_size and time.monotonic() < end:
            time.sleep(0.02)


def _announce(store: Any, name: str, rank: int, world_size: int) -> None:
    """Refuses a rank that is already taken, and a different world size."""
    size = store.compare_set(_SIZE, "", str(world_size)).decode()
    if size != str(world_size):
        raise DistributedError(
            f"world size mismatch: the first member has {size}, `{name}` has {world_size}; give "
            "all members the same world size"
        )
    if store.add(f"{_MEMBER}{rank}", 1) > 1:
        raise DistributedError(f"rank {rank} is already taken; give each member its own rank")


@contextlib.contextmanager
def _naming_missing(store: Any, world_size: int, patience: float) -> Iterator[None]:
    """If members don't join in time, names them in the error."""
    try:
        yield
    except dist.DistError:
        missing = [rank for rank in range(world_size) if not store.check([f"{_MEMBER}{rank}"])]
        if not missing:
            raise
        raise DistributedError(
            f"expected {world_size} members, but rank {', '.join(map(str, missing))} did not join"
            f" within {patience:g} s"
        ) from None


def _join(
    store: Any, name: str, rank: int, world_size: int | None, rpc_backend_options: Any
) -> Any:
    if world_size is None:
        raise UnsupportedError(
            f"a world of the backend {NAME} has a fixed size; give `world_size` to `init_rpc`"
        )
    if rpc_backend_options.device_maps or rpc_backend_options.devices:
        raise UnsupportedError(
            f"the backend {NAME} supports CPU tensors only; omit `device_maps` and `devices`"
        )
    # Load the operators now, because nobody can load them here later.
    from .optim import operators  # noqa: F401

    torch.ops.updraft.guard_transports()
    _announce(store, name, rank, world_size)
    # `init_rpc` uses the same timeout for the store.
    with _naming_missing(store, world_size, rpc_backend_options.rpc_timeout):
        agent = rpc.TensorPipeAgent(store, name, rank, world_size, rpc_backend_options, {}, [])
        membership.join(agent)
        # Starts to answer requests. Members that have joined may already wait for answers.
        init_rpc_states(agent)
    atexit.register(_leave, store, rank == 0, world_size)
    # torch collects the names of members by calling Python functions, which some members may lack.
    # With only this member in the list, it calls none.
    alone = [agent.get_worker_info()]
    return SimpleNamespace(get_worker_infos=lambda: alone)


def _wait_for_others(wait: Callable[..., None]) -> Callable[..., None]:
    """Returns the function that `rpc.shutdown` of torch 2.15 calls before it drops references."""

    @functools.wraps(wait)
    def wait_all_workers(timeout: float = 0) -> None:
        if not membership.has_joined():
            wait(timeout)
            return
        try:
            torch.ops.updraft.leave_with_others(timeout or None)
        except RuntimeError as error:
            # `shutdown` still stops this member.
            raise DistributedError(str(error)) from None

    return wait_all_workers


def _register() -> None:
    waiting = ATTRIBUTES["wait_all_workers"].name
    setattr(rpc.api, waiting, _wait_for_others(getattr(rpc.api, waiting)))
    rpc.backend_registry.register_backend(NAME, _make_options, _join)
    # torch creates a new enumeration for each backend, and `init_rpc` accepts members of the last.
    rpc.BackendType = rpc.backend_registry.BackendType


if dist.is_available() and rpc.is_available():

    class Options(rpc.TensorPipeRpcBackendOptions):
        """TensorPipe's options. The class tells `init_rpc` which backend to use by default."""

    if not rpc.backend_registry.backend_registered(NAME):
        _register()
