"""Combines the answers of all workers."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..answers import TYPES, typed

# The form of torch's error for a Python function. torch doesn't always keep the exception's type.
_PYTHON = re.compile(r"\A(?:\w+: )?On WorkerInfo\([^)]*\):\n(\w+)\((.*)\)\nTraceback ", re.DOTALL)


#: The result of a step whose context was already applied, instead of a number of parameters.
ALREADY_APPLIED = -1


class PartlyAppliedError(RuntimeError):
    """A step began and failed, so what it has written is unknown. Has the text of the error."""


class _Failure:
    """A failed answer."""

    def __init__(self, error: Exception) -> None:
        self.kind = type(error)
        # torch drops text that isn't UTF-8.
        self.text = str(error).strip() or "an error without a text"
        #: Whether the worker itself reported it. Otherwise the worker may have done the work.
        self.is_answer = True
        self.is_partly = False
        if match := _PYTHON.match(self.text):
            self.kind = TYPES.get(match[1], self.kind)
            self.text = _message(match[2])
            self.is_partly = match[1] == PartlyAppliedError.__name__
        else:
            kind, self.text = typed(self.text)
            self.is_answer = kind is not None
            self.kind = kind or self.kind


def _message(arguments: str) -> str:
    """The text of an error, from the printed form of its arguments."""
    try:
        value = ast.literal_eval(arguments)
    except (SyntaxError, ValueError):
        return arguments
    return value if isinstance(value, str) else arguments


def begun(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls a function that returns a future. If it raises, returns a failed future."""
    try:
        return call(*args, **kwargs)
    except Exception as error:
        failed: torch.futures.Future[Any] = torch.futures.Future()
        failed.set_exception(error)  # type: ignore[arg-type]
        return failed


def gathered(
    futures: Mapping[str, Any], failed: str, unknown: str = "", partly: str = "", done: str = ""
) -> dict[str, Any]:
    """Waits for all futures, by worker name, and returns their values.

    Args:
        failed: the text before the name of a worker that has refused.
        unknown: the text for a worker that has not answered; `failed` if it is empty.
        partly: the text for a worker that has stopped in the middle.
        done: the text about the other workers, if any.

    Raises:
        Exception: some failed. The message has all failures. The type is theirs if all have the
            same, else RuntimeError.
    """
    values: dict[str, Any] = {}
    failures: dict[str, _Failure] = {}
    for name, future in futures.items():
        try:
            values[name] = future.wait()
        except Exception as error:
            failures[name] = _Failure(error)
    if not failures:
        return values

    def said(failure: _Failure) -> str:
        if failure.is_partly:
            return partly
        return failed if failure.is_answer else unknown or failed

    parts = [f"{said(failure)} `{name}`: {failure.text}" for name, failure in failures.items()]
    if done and values:
        parts.append(f"{done} {', '.join(f'`{name}`' for name in values)}")
    kinds = {RuntimeError if failure.is_partly else failure.kind for failure in failures.values()}
    kind = kinds.pop() if len(kinds) == 1 else RuntimeError
    raise kind("; ".join(parts))
