"""Whether a worker has Python, asked before references are sent to it.

Of a call that a worker without Python refuses, it would never say that it has the references among
the arguments, and leaving the world waits for that.
"""

from typing import Any

import torch
import torch.distributed.rpc as rpc

from ..membership import has_joined
from .outcomes import begun


def _nothing() -> None:
    """Is called to see whether Python is."""


def asked_for_python(worker: Any) -> Any:
    """Returns a future, which fails with what a worker without Python says to a call.

    A world of torch's own backend has no such worker, and is not asked.
    """
    if has_joined():
        return begun(rpc.rpc_async, worker, _nothing)
    known: torch.futures.Future[None] = torch.futures.Future()
    known.set_result(None)
    return known
