"""Calls of the operators of `runtime/torch/rpc`, on other workers and here.

torch's RPC runs an operator of the namespace `aten` on the worker with no Python on the way.
"""

from typing import Any

import torch
from torch._C._distributed_rpc import PyRRef, WorkerInfo, _invoke_rpc_builtin

from ...optim import adapter  # noqa: F401  Registers the operators.

_VERSION = 1
#: Takes the tensors themselves, of the worker that this is.
create_here = torch.ops.updraft.create_here
_rref_id = torch.ops.updraft.rref_id


def call(worker: WorkerInfo, name: str, *args: Any, timeout: float) -> Any:
    """Calls an operator on a worker, and returns the future of its value.

    Args:
        name: `step`, for the operator `aten::_updraft_1_step`.
        timeout: seconds; 0 waits for ever, and -1 is what `init_rpc` was given.
    """
    return _invoke_rpc_builtin(worker, f"aten::_updraft_{_VERSION}_{name}", timeout, *args)


def reference(rref: "PyRRef[Any]") -> tuple[int, int]:
    """Returns what names a remote reference on its owner."""
    created_on, local_id = _rref_id(rref)
    return created_on, local_id


def load() -> None:
    """Does nothing: to call it from afar loads this module."""
