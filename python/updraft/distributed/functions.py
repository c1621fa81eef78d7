"""Calls of functions registered in C++, by name.

They run on the worker without Python. Within a context they are recorded even if no argument
requires a gradient, because the worker's parameters may.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.distributed import rpc
from torch.futures import Future


class _Arguments:
    """Arguments as text, for `runtime/torch/rpc/FunctionCall.cpp`, and their tensors."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.tensors: list[torch.Tensor] = []
        #: References, and their names in messages.
        self.rrefs: list[rpc.PyRRef[torch.Tensor]] = []
        self.places: list[str] = []

    def packed(self, place: str, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            self.tensors.append(value)
            return {"tensor": len(self.tensors) - 1}
        if isinstance(value, rpc.PyRRef):
            return self._reference(place, value)
        if isinstance(value, list | tuple):
            return [self.packed(f"{place}[{i}]", one) for i, one in enumerate(value)]
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        if value is None or isinstance(value, bool | int | float | str):
            return value
        raise TypeError(
            f"{place} is {type(value)}; a function in C++ takes tensors, references to tensors of "
            "its worker, numbers, strings, None, and lists of these"
        )

    def _reference(self, place: str, value: Any) -> Any:
        from .optim import operators

        owner = value.owner_name()
        if owner != self.worker:
            raise ValueError(
                f"{place} refers to a tensor of `{owner}`, but the function runs on "
                f"`{self.worker}`; call it on `{owner}`, or send the value: `to_here()`"
            )
        if value.is_owner():
            # A reference that no other worker has doesn't have a number, so its owner can't find
            # it.
            tensor = value.local_value()
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"expected {place} to refer to a tensor, got {tensor!r}")
            return self.packed(place, tensor)
        self.rrefs.append(value)
        self.places.append(place)
        return {"rref": list(operators.reference(value))}


def prepared(
    worker: rpc.WorkerInfo,
    function: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    limit: float,
) -> Callable[[], Future[Any]]:
    """Packs the arguments of a call, and returns the function that starts it.

    That function returns immediately, unless an argument is a reference whose owner is still
    creating its value.
    """
    from .optim import operators
    from .optim.arrivals import awaited
    from .optim.remote import loaded_on

    loaded_on([worker])
    arguments = _Arguments(worker.name)
    text = json.dumps(
        {
            "args": [
                arguments.packed(f"argument {i} of `{function}`", value)
                for i, value in enumerate(args)
            ],
            "kwargs": {
                name: arguments.packed(f"the argument `{name}` of `{function}`", value)
                for name, value in kwargs.items()
            },
        }
    )

    def call() -> Future[Any]:
        awaited(worker, arguments.rrefs, arguments.places).wait()
        # In this thread, because the context is thread-local.
        future: Future[Any] = operators.call_recorded(
            worker.name, function, text, arguments.tensors, limit
        )
        return future

    return call
