"""Runs a call on a worker, and returns its exceptions."""

import importlib
import operator
import pickle
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

from torch.distributed.rpc.functions import async_execution
from torch.futures import Future

from ..errors import InvalidArgumentError
from .errors import DistributedError

UNPARALLELIZED = "__unparallelized__"


class Failure:
    """An exception on its way to the caller. torch itself would lose its type.

    Args:
        error: the exception.
        text: the traceback.
    """

    def __init__(self, error: BaseException, text: str) -> None:
        self.error = error
        self.text = text

    def __reduce__(self) -> tuple[Any, ...]:
        """An exception that can't be pickled and restored is sent as its text."""
        error = self.error
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            error = DistributedError("".join(traceback.format_exception_only(error)).rstrip())
        return Failure, (error, self.text)


def execute(func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls the function, on the called worker."""
    try:
        return func(*args, **kwargs)
    except BaseException as error:
        text = "".join(traceback.format_exception(error)).rstrip()
        if not isinstance(error, Exception):
            # SystemExit would end a thread that serves calls, and the caller would get no answer.
            error = DistributedError(f"`{type(error).__name__}` was raised: {error}")
        return Failure(error, text)


@async_execution  # type: ignore[untyped-decorator]
def execute_later(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Future[Any]:
    """Like `execute`, for a function with `async_execution`, which returns a future."""
    future: Future[Any] = execute(func, args, kwargs)
    if isinstance(future, Failure):
        failed: Future[Any] = Future()
        failed.set_result(future)
        return failed
    return future.then(lambda done: execute(done.wait, (), {}))


class Unparallelized:
    """Stands for a parallelized function, and calls the decorated one.

    On another worker, its name refers to the parallelized one, which would call all workers again.

    Args:
        module: the module that has the function.
        name: its qualified name there.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function."""
        return getattr(_named(self.module, self.name), UNPARALLELIZED)(*args, **kwargs)


def _named(module: str, name: str) -> Any:
    """The object with a qualified name on a worker."""
    return operator.attrgetter(name)(sys.modules.get(module) or importlib.import_module(module))


def by_name(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the object to send to workers instead of a parallelized function.

    That is the function itself, unless its name refers to the parallelized one.
    """
    if not isinstance(func, types.FunctionType):
        return func
    try:
        found = _named(func.__module__, func.__qualname__)
    except (AttributeError, ImportError):
        found = None
    if found is func:
        return func
    if getattr(found, UNPARALLELIZED, None) is func:
        return Unparallelized(func.__module__, func.__qualname__)
    raise InvalidArgumentError(
        f"cannot find the function `{func.__qualname__}` in `{func.__module__}`; workers find"
        " functions by name, so define and parallelize it at the top of a module"
    )


def check_function(func: Any) -> None:
    """Refuses objects that aren't functions, or that other workers can't find."""
    if not callable(func):
        raise TypeError(f"`{func!r}` cannot be called; give a function, or the name of an operator")
    name = getattr(func, "__qualname__", "")
    if "<locals>" in name or "<lambda>" in name:
        raise InvalidArgumentError(
            f"`{func.__module__}.{name}` is within a function; workers find functions by name, so"
            " define it at the top of a module"
        )
