"""Calls of functions on other workers: split the arguments, call, and reduce the results."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch.distributed import rpc
from torch.futures import Future

from ..caller_warnings import warn_caller
from ..errors import InvalidArgumentError
from ..torch_private import ATTRIBUTES, current_context, set_unwrap_func
from . import functions
from .answers import typed
from .errors import DistributedError
from .partition import Part, Partitioner, batch_partitioner
from .remote import Failure, check_function, execute, execute_later
from .timeouts import UNSET_RPC_TIMEOUT, call_limit
from .trees import leaves_with_places, map_tensors
from .world import get_worker_id, require_rpc, worker_info

Reducer = Callable[..., Any]

_LATER = ATTRIBUTES["async_function"].name


def _parts(partitioner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Part]:
    if partitioner is None:
        partitioner = batch_partitioner
    if isinstance(partitioner, str | rpc.WorkerInfo) or type(partitioner) is int:
        return [Part(get_worker_id(partitioner), args, kwargs)]
    if not callable(partitioner):
        raise InvalidArgumentError(
            f"the partitioner is `{partitioner!r}`; give a worker's number or name, a function, or"
            " None for `batch_partitioner`"
        )
    parts = []
    for index, part in enumerate(partitioner(*args, **kwargs)):
        if not isinstance(part, Part):
            try:
                worker, part_args, part_kwargs = part
                part = Part(worker, part_args or (), part_kwargs)
            except (TypeError, ValueError):
                raise InvalidArgumentError(
                    f"part {index} of the partitioner is `{part!r}`; a part is a triplet of a"
                    " worker, its positional and its keyword arguments"
                ) from None
        parts.append(Part(get_worker_id(part[0]), *part[1:], weight=part.weight))
    if not parts:
        raise InvalidArgumentError("the partitioner returned no parts, so there is nothing to call")
    return parts


def _in_context() -> bool:
    """Whether a distributed-autograd context records this thread's operations."""
    try:
        current_context()
    except RuntimeError:
        return False
    return True


def _warn_of_parameters(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not torch.is_grad_enabled():
        return
    for place, leaf in leaves_with_places(args, kwargs):
        named = (
            ((f"`{name}` of {place}", param) for name, param in leaf.named_parameters())
            if isinstance(leaf, torch.nn.Module)
            else [(place, leaf)]
        )
        for name, param in named:
            if isinstance(param, torch.nn.Parameter) and param.requires_grad:
                if _in_context():
                    warn_caller(
                        f"{name} is a `torch.nn.Parameter`, which is sent without its graph and"
                        " gets no gradient from this call; send `module_clone(model, by='clone')`,"
                        " or a parameter's `clone()`",
                    )
                return


def _prepared(
    func: Callable[..., Any] | str,
    worker: rpc.WorkerInfo,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    limit: float,
) -> Callable[[], Future[Any]]:
    """Returns the function that calls `func` on a worker."""
    if isinstance(func, str):
        return functions.prepared(worker, func, args, kwargs, limit)
    answer = execute_later if hasattr(func, _LATER) else execute
    return functools.partial(
        rpc.rpc_async, worker, answer, args=(func, args, kwargs), timeout=limit
    )


def _started(call: Callable[[], Future[Any]]) -> Future[Any]:
    try:
        return call()
    except RuntimeError as error:
        # The connection is known to be broken, or an argument's value is missing.
        future: Future[Any] = Future()
        future.set_exception(error)
        return future


class _Calls:
    """Running calls, one for each part."""

    def __init__(
        self,
        func: Callable[..., Any] | str,
        parts: list[Part],
        reducer: Reducer | None,
        timeout: float | None,
    ) -> None:
        workers = [worker_info(part[0]) for part in parts]
        self.places = [
            f"worker `{worker.name}`, part {index} of {len(parts)}"
            for index, worker in enumerate(workers)
        ]
        self.weights = [part.weight for part in parts]
        self.reducer = reducer
        self.grad_enabled = torch.is_grad_enabled()
        limit = call_limit(timeout)
        calls = [
            _prepared(func, worker, args, kwargs, limit)
            for worker, (_, args, kwargs) in zip(workers, parts, strict=True)
        ]

        def start() -> list[Future[Any]]:
            return [*map(_started, calls)]

        if self.grad_enabled or not _in_context():
            self.futures = start()
        else:
            # A context records calls under `no_grad` too, but only those of its own thread.
            with ThreadPoolExecutor(1) as thread:
                self.futures = thread.submit(start).result()

    def outcome(self, index: int, future: Future[Any]) -> Any:
        """The result of a part, or its failure."""
        try:
            result = future.wait()
        except Exception as error:
            # A timeout, a broken connection, or the error of a C++ function. Torch may append its
            # own backtrace.
            kind, text = typed(str(error).partition("\nException raised from")[0].strip())
            return Failure((kind or DistributedError)(f"{self.places[index]}: {text}"), "")
        if isinstance(result, Failure) and result.text:
            result.error.add_note(f"{self.places[index]}:\n{result.text}")
        return result if self.grad_enabled else map_tensors(torch.Tensor.detach, result)

    def reduce(self, outcomes: Sequence[Any]) -> Any:
        """The reduced result, or the first failure with the others in its notes."""
        failures = [outcome for outcome in outcomes if isinstance(outcome, Failure)]
        if failures:
            error = failures[0].error
            for failure in failures[1:]:
                summary = f"also {type(failure.error).__name__}: {failure.error}"
                notes = getattr(failure.error, "__notes__", [])
                error.add_note("\n".join([summary, *notes]))
            return failures[0]
        if self.reducer is None:
            return [*outcomes]
        if _takes_weights(self.reducer):
            return self.reducer([*outcomes], weights=self.weights)
        return self.reducer([*outcomes])

    def wait(self) -> Any:
        """The result, reduced by this thread."""
        outcomes = [self.outcome(index, future) for index, future in enumerate(self.futures)]
        result = self.reduce(outcomes)
        _raise_failure(result)
        return result

    def future(self) -> Future[Any]:
        """A future of the result, reduced by the thread that receives the last part."""

        def reduce(outcomes: Future[list[Future[Any]]]) -> Any:
            try:
                with torch.set_grad_enabled(self.grad_enabled):
                    return self.reduce([future.wait() for future in outcomes.wait()])
            except Exception as error:
                return Failure(error, "")

        # Failures are values here, not errors: an error would end the wait for other parts and lose
        # its type.
        every = torch.futures.collect_all(
            [
                future.then(functools.partial(self.outcome, index))
                for index, future in enumerate(self.futures)
            ]
        )
        joined = every.then(reduce)
        set_unwrap_func(joined, _raise_failure)
        return joined


def _raise_failure(result: Any) -> None:
    if isinstance(result, Failure):
        raise result.error


def _takes_weights(reducer: Reducer) -> bool:
    if isinstance(reducer, functools.partial) and "weights" in reducer.keywords:
        return False
    try:
        return "weights" in inspect.signature(reducer).parameters
    except (TypeError, ValueError):
        return False


def _start(
    func: Callable[..., Any] | str,
    args: Iterable[Any] | None,
    kwargs: Mapping[str, Any] | None,
    partitioner: Partitioner | None,
    reducer: Reducer | None,
    timeout: float | None,
) -> _Calls:
    if not isinstance(func, str):
        check_function(func)
    require_rpc()
    given = tuple(args or ()), dict(kwargs or {})
    parts = _parts(partitioner, *given)
    if not isinstance(func, str):
        _warn_of_parameters(*given)
    return _Calls(func, parts, reducer, timeout)


def remote_async_call(
    func: Callable[..., Any] | str,
    *,
    args: Iterable[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    partitioner: Partitioner | None = None,
    reducer: Reducer | None = None,
    timeout: float | None = UNSET_RPC_TIMEOUT,
) -> Future[Any]:
    """Starts calls of a function on workers, and returns a future of their results.

    Within a distributed-autograd context the call is recorded on both sides, even if no argument
    requires grad here. Under `torch.no_grad()` it is not.

    Args:
        func: a function at the top level of a module, which workers find by its name. Or the name
            of an operator of the namespace `updraft_functions`, such as `"linear"` or
            `"embedding"`, which runs without Python. References to tensors of its worker count as
            tensors.
        args: its positional arguments.
        kwargs: its keyword arguments.
        partitioner: a worker, by number, name or `WorkerInfo`; or a function of the arguments that
            returns triplets `(worker, args, kwargs)`, one for each call. None means
            `batch_partitioner`.
        reducer: a function of the list of results. If it has a parameter `weights`, it also gets
            the sizes of the parts. None returns the list itself.
        timeout: seconds after which a call fails, although the worker may still finish it. 0 means
            no limit. None and the default mean the timeout of `rpc_backend_options`.

    Returns:
        A future. After all parts have ended, `wait()` returns the result or raises the function's
        exception. A note of the exception has the worker and its traceback; the text of an error of
        a C++ function has the worker. The call itself returns immediately, unless an argument of a
        C++ function is a reference whose owner is still creating its value.

    Example:
        >>> future = updraft.distributed.remote_async_call(
        ...     torch.sum, args=(torch.ones(6),), reducer=updraft.distributed.sum_reducer
        ... )
        >>> future.wait()
        tensor(6.)
    """
    return _start(func, args, kwargs, partitioner, reducer, timeout).future()


def remote_sync_call(
    func: Callable[..., Any] | str,
    *,
    args: Iterable[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    partitioner: Partitioner | None = None,
    reducer: Reducer | None = None,
    timeout: float | None = UNSET_RPC_TIMEOUT,
) -> Any:
    """Calls a function on workers and waits for the results; see `remote_async_call`.

    This thread calls the reducer.

    Example:
        >>> updraft.distributed.remote_sync_call(max, args=(2, 3), partitioner=0)
        [3]

    A C++ function of a parameter on its worker:

        >>> weight, inputs = torch.nn.Parameter(torch.eye(2)), torch.tensor([3.0, 4.0])
        >>> there = torch.distributed.rpc.RRef(weight)
        >>> with torch.distributed.autograd.context() as context:
        ...     [output] = updraft.distributed.remote_sync_call(
        ...         "linear", args=(inputs, there), partitioner="worker0"
        ...     )
        ...     torch.distributed.autograd.backward(context, [output[1]])
        ...     gradients = torch.distributed.autograd.get_gradients(context)
        >>> output.detach()
        tensor([3., 4.])
        >>> gradients[weight]
        tensor([[0., 0.],
                [3., 4.]])
    """
    return _start(func, args, kwargs, partitioner, reducer, timeout).wait()
