"""Calls of the operators of `runtime/torch/rpc`, on other workers and here.

torch's RPC runs an operator of the namespace `aten` on the worker with no Python on the way.
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
#: Takes the tensors themselves, of the worker that this is.
create_here = torch.ops.updraft.create_here
#: As `copies`, of the tensors themselves.
copies_here = torch.ops.updraft.copies_here
#: Calls a function on a worker, and has gradients recorded in any case.
call_recorded = torch.ops.updraft.call_recorded
#: Waits until what this worker has had made for any of some references is made, or has failed.
await_made = torch.ops.updraft.await_made
_rref_id = torch.ops.updraft.rref_id


def _qualified(name: str) -> str:
    return f"aten::_updraft_{_VERSION}_{name}"


def call(worker: WorkerInfo, name: str, *args: Any, timeout: float) -> Any:
    """Calls an operator on a worker, and returns the future of its value.

    Args:
        name: `step`, for the operator `aten::_updraft_1_step`.
        timeout: seconds; 0 waits for ever, and -1 is what `init_rpc` was given.
    """
    return invoke_rpc_builtin(worker, _qualified(name), timeout, *args)


def remote(worker: WorkerInfo, name: str, *args: Any) -> "PyRRef[Any]":
    """Calls an operator on a worker, where its value stays, and returns a reference to that."""
    return invoke_remote_builtin(worker, _qualified(name), -1.0, *args)


def reference(rref: "PyRRef[Any]") -> tuple[int, int]:
    """Returns what names a remote reference on its owner."""
    created_on, local_id = _rref_id(rref)
    return created_on, local_id


def references(rrefs: "Iterable[PyRRef[Any]]") -> tuple[list[int], list[int]]:
    """Returns what names remote references on their owner, as operators take them."""
    pairs = [reference(rref) for rref in rrefs]
    return [created_on for created_on, _ in pairs], [local_id for _, local_id in pairs]


def owner(rref: "PyRRef[Any]") -> WorkerInfo:
    """Returns the worker that a reference's value is on.

    As `rref.owner()`, which goes by the names of the process's first world for ever.
    """
    return rpc.get_worker_info(rref.owner_name())


def is_here(worker: WorkerInfo) -> bool:
    """Whether a worker is this one, to which references may have no number."""
    return bool(worker.name == rpc.get_worker_info().name)


def load() -> None:
    """Does nothing: to call it from afar loads this module."""


def load_on(worker: WorkerInfo) -> Any:
    """Has a worker know the operators, by Python unless it may have none; returns a future."""
    if has_joined():
        return call(worker, "ready", timeout=-1.0)
    return rpc.rpc_async(worker, load)
