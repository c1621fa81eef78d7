"""Calls of the operators of `runtime/torch/rpc`, on other workers and here.

torch's RPC runs operators of the namespace `aten` on the worker without Python.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch.distributed import rpc
from torch.distributed.rpc import PyRRef, WorkerInfo

from ...optim import adapter  # noqa: F401  Registers the operators.
from ...torch_private import invoke_remote_builtin, invoke_rpc_builtin
from ..membership import has_joined

_VERSION = 1
#: Takes tensors of this worker instead of references.
create_here = torch.ops.updraft.create_here
#: Like `copies`, for tensors of this worker.
copies_here = torch.ops.updraft.copies_here
#: Calls a function on a worker, and always records gradients.
call_recorded = torch.ops.updraft.call_recorded
#: Waits until this worker has created the value of any of the references, or failed to.
await_made = torch.ops.updraft.await_made
_rref_id = torch.ops.updraft.rref_id


def _qualified(name: str) -> str:
    return f"aten::_updraft_{_VERSION}_{name}"


def call(worker: WorkerInfo, name: str, *args: Any, timeout: float) -> Any:
    """Calls an operator on a worker, and returns the future of its value.

    Args:
        name: `step`, for the operator `aten::_updraft_1_step`.
        timeout: seconds; 0 waits forever, and -1 is the timeout given to `init_rpc`.
    """
    return invoke_rpc_builtin(worker, _qualified(name), timeout, *args)


def remote(worker: WorkerInfo, name: str, *args: Any) -> "PyRRef[Any]":
    """Calls an operator on a worker, keeps the value there, and returns a reference to it."""
    return invoke_remote_builtin(worker, _qualified(name), -1.0, *args)


def reference(rref: "PyRRef[Any]") -> tuple[int, int]:
    """Returns the key of a remote reference on its owner."""
    created_on, local_id = _rref_id(rref)
    return created_on, local_id


def references(rrefs: "Iterable[PyRRef[Any]]") -> tuple[list[int], list[int]]:
    """Returns the keys of remote references on their owner, as arguments of operators."""
    pairs = [reference(rref) for rref in rrefs]
    return [created_on for created_on, _ in pairs], [local_id for _, local_id in pairs]


def owner(rref: "PyRRef[Any]") -> WorkerInfo:
    """Returns the worker that owns a reference's value.

    `rref.owner()` isn't used, because it keeps the names of the process's first world.
    """
    return rpc.get_worker_info(rref.owner_name())


def is_here(worker: WorkerInfo) -> bool:
    """Whether this process is the worker. References to it may have no number."""
    return bool(worker.name == rpc.get_worker_info().name)


def load() -> None:
    """Does nothing. A remote call of it loads this module."""


def load_on(worker: WorkerInfo) -> Any:
    """Makes a worker load the operators, through Python unless it may lack it; returns a future."""
    if has_joined():
        return call(worker, "ready", timeout=-1.0)
    return rpc.rpc_async(worker, load)
