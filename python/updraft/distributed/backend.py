"""The backend `UPDRAFT` of torch's RPC, whose worlds may have members without Python.

torch's own backend has every member call Python functions of the others when they join and leave.
Here all meet through the store alone. Every Python member of such a world uses this backend:

    rpc.init_rpc("trainer0", backend=rpc.BackendType.UPDRAFT, rank=0, world_size=2)
"""

import atexit
import contextlib
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import torch.distributed as dist
from torch.distributed import rpc

from ..errors import UnsupportedError

NAME = "UPDRAFT"
# As in tools/updraft-torch-worker/Membership.cpp: how many have left; whoever hosts the store stays
# until they have, or as many seconds.
_LEFT = "updraft_left"
_LINGER = 5.0


#: That of the last such world which this process has joined.
_agent: Any = None


def has_joined() -> bool:
    """Whether this process is a member of such a world. All members know Updraft's operators."""
    return rpc.api._is_current_rpc_agent_set() and rpc.api._get_current_rpc_agent() is _agent


def _make_options(rpc_timeout: float, init_method: str, **kwargs: Any) -> Any:
    return Options(rpc_timeout=rpc_timeout, init_method=init_method, **kwargs)


def _leave(store: Any, is_host: bool, world_size: int) -> None:
    global _agent
    _agent = None
    # The host may be gone, and there is nobody to tell.
    with contextlib.suppress(RuntimeError):
        store.set_timeout(timedelta(seconds=_LINGER))
        store.add(_LEFT, 1)
        end = time.monotonic() + _LINGER
        while is_host and store.add(_LEFT, 0) < world_size and time.monotonic() < end:
            time.sleep(0.02)


def _join(
    store: Any, name: str, rank: int, world_size: int | None, rpc_backend_options: Any
) -> Any:
    global _agent
    if world_size is None:
        raise UnsupportedError(
            f"a world of the backend {NAME} has a fixed size; give `world_size` to `init_rpc`"
        )
    if rpc_backend_options.device_maps or rpc_backend_options.devices:
        raise UnsupportedError(
            f"the backend {NAME} moves tensors between CPUs alone; leave out `device_maps` and "
            "`devices`"
        )
    # Nobody could load them here later.
    from .optim import operators  # noqa: F401

    _agent = agent = rpc.TensorPipeAgent(store, name, rank, world_size, rpc_backend_options, {}, [])
    # Starts to answer, which some that have joined may already wait for.
    rpc.api._init_rpc_states(agent)
    # From here on only `shutdown` waits for others: as long as it takes. 0 would be over at once.
    store.set_timeout(timedelta(milliseconds=-1))
    atexit.register(_leave, store, rank == 0, world_size)
    # What `shutdown` waits for before all leave through the store: for Python members that call
    # each other. This one alone need not be called.
    alone = [agent.get_worker_info()]
    return SimpleNamespace(get_worker_infos=lambda: alone)


def _register() -> None:
    rpc.backend_registry.register_backend(NAME, _make_options, _join)
    # torch makes an enumeration anew for each backend, and `init_rpc` takes members of the last.
    rpc.BackendType = rpc.backend_registry.BackendType


if dist.is_available() and rpc.is_available():

    class Options(rpc.TensorPipeRpcBackendOptions):
        """Those of TensorPipe. By the class `init_rpc` knows the backend if it is not told."""

    if not rpc.backend_registry.backend_registered(NAME):
        _register()
