"""Calls of functions on other workers whose gradients are always recorded."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.distributed import rpc

from .errors import DistributedError
from .timeouts import call_limit


class _Arguments:
    """Arguments as text, for `runtime/torch/rpc/FunctionCall.cpp`, and the tensors among them."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.tensors: list[torch.Tensor] = []
        #: References, and what messages call them.
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
                f"{place} refers to a tensor of `{owner}`, and the function is called on "
                f"`{self.worker}`; call it where its parameters are, or send the value: `to_here()`"
            )
        if value.is_owner():
            # One that no other worker has is known to nobody but itself, by no number.
            tensor = value.local_value()
            if not isinstance(tensor, torch.Tensor):
                raise TypeError(f"{place} is a reference to {tensor!r}, which is no tensor")
            return self.packed(place, tensor)
        self.rrefs.append(value)
        self.places.append(place)
        return {"rref": list(operators.reference(value))}


def _call_registered(
    worker: rpc.WorkerInfo,
    function: str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    timeout: float,
) -> Any:
    from .optim import operators
    from .optim.arrivals import awaited
    from .optim.outcomes import begun, gathered

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
    # In this thread, which has the context.
    arrival = begun(awaited, worker, arguments.rrefs, arguments.places)
    gathered({worker.name: arrival}, f"`{function}` has failed on")
    return operators.call_recorded(worker.name, function, text, arguments.tensors, timeout)


def call_async(
    worker: str | int | rpc.WorkerInfo,
    function: str | Callable[..., Any],
    /,
    *args: Any,
    timeout: float | None = None,
    **kwargs: Any,
) -> Any:
    """As `call`; returns a future of the result.

    Returns at once, unless an argument is a reference whose owner is still making its value.
    """
    if not rpc.api._is_current_rpc_agent_set():
        raise DistributedError("RPC is not running; call `torch.distributed.rpc.init_rpc` first")
    to = rpc.api._to_worker_info(worker)
    limit = call_limit(timeout)
    if isinstance(function, str):
        return _call_registered(to, function, args, kwargs, limit)
    if not callable(function):
        raise TypeError(f"the function is {function!r}; give the name of one, or a Python function")
    pickled, tensors = rpc.api._default_pickler.serialize(
        rpc.internal.PythonUDF(function, args, kwargs)
    )
    # Operators of torch as well: a call of an operator records nothing if no argument requires a
    # gradient, and the worker's parameters get none.
    is_async = hasattr(function, "_wrapped_async_rpc_function")
    return rpc.api._invoke_rpc_python_udf(to, pickled, tensors, limit, is_async)


def call(
    worker: str | int | rpc.WorkerInfo,
    function: str | Callable[..., Any],
    /,
    *args: Any,
    timeout: float | None = None,
    **kwargs: Any,
) -> Any:
    """Computes a function on another worker, and returns its result.

    Within a context of `torch.distributed.autograd` gradients go to what the function reads on the
    worker, also when no argument requires one: torch's own `rpc_sync` of an operator records
    nothing then, and the gradients are lost without a word.

    Args:
        worker: its name, number, or `WorkerInfo`.
        function: the name of an operator of the namespace `updraft_functions`, which runs without
            Python, as `"linear"` or `"embedding"`; or a Python function, for workers with Python.
        args: its arguments. A function by name takes references to tensors of its worker for
            tensors.
        timeout: seconds; 0 for no limit; None for the timeout of `rpc_backend_options`.
        kwargs: as `args`.

    Raises:
        TypeError, ValueError: there is no such function, or it does not take such arguments.
        RuntimeError: the worker has not answered.

    Example:
        >>> weight, inputs = torch.nn.Parameter(torch.eye(2)), torch.tensor([3.0, 4.0])
        >>> there = torch.distributed.rpc.RRef(weight)
        >>> with torch.distributed.autograd.context() as context:
        ...     output = updraft.distributed.call("worker0", "linear", inputs, there)
        ...     torch.distributed.autograd.backward(context, [output[1]])
        ...     gradients = torch.distributed.autograd.get_gradients(context)
        >>> output.detach()
        tensor([3., 4.])
        >>> gradients[weight]
        tensor([[0., 0.],
                [3., 4.]])
    """
    from .optim.outcomes import gathered

    future = call_async(worker, function, *args, timeout=timeout, **kwargs)
    if not isinstance(function, str):
        return future.wait()
    name = rpc.api._to_worker_info(worker).name
    return gathered({name: future}, f"`{function}` has failed on")[name]
