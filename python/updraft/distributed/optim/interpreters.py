"""Checks that a worker has Python, before references are sent to it.

A worker without Python refuses the call and doesn't confirm references in its arguments. Leaving
the world would wait for the confirmation.
"""

from typing import Any

import torch
import torch.distributed.rpc as rpc

from ..membership import has_joined
from .outcomes import begun


def _nothing() -> None:
    """Called on a worker to check that it has Python."""


def asked_for_python(worker: Any) -> Any:
    """Returns a future that fails with the error of a worker without Python.

    All workers in a world of torch's own backend have Python, so they aren't asked.
    """
    if has_joined():
        return begun(rpc.rpc_async, worker, _nothing)
    known: torch.futures.Future[None] = torch.futures.Future()
    known.set_result(None)
    return known
