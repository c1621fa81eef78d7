"""What all workers have answered."""

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ..answers import TYPES, typed

# What torch makes of an error in a Python function, the type of which it does not always keep.
_PYTHON = re.compile(r"\A(?:\w+: )?On WorkerInfo\([^)]*\):\n(\w+)\((.*)\)\nTraceback ", re.DOTALL)


#: What a step returns where its context was applied already, in place of a number of parameters.
ALREADY_APPLIED = -1


class PartlyAppliedError(RuntimeError):
    """A step began and failed: nobody knows what it has written. The text is that of its error."""


class _Failure:
    """What came instead of an answer."""

    def __init__(self, error: Exception) -> None:
        self.kind = type(error)
        # torch drops a text that is not UTF-8.
        self.text = str(error).strip() or "an error without a text"
        #: Whether the worker itself has said so; else it may have done what it was asked.
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
    """The text of an error, of how its arguments are written."""
    try:
        value = ast.literal_eval(arguments)
    except (SyntaxError, ValueError):
        return arguments
    return value if isinstance(value, str) else arguments


def begun(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Calls what returns a future; one of what it raises where it does not get that far."""
    try:
        return call(*args, **kwargs)
    except Exception as error:
        failed: torch.futures.Future[Any] = torch.futures.Future()
        failed.set_exception(error)  # type: ignore[arg-type]
        return failed


def gathered(
    futures: Mapping[str, Any], failed: str, unknown: str = "", partly: str = "", done: str = ""
) -> dict[str, Any]:
    """Waits for all futures, by the names of workers, and returns their values.

    Args:
        failed: what is said before the name of a worker that has refused.
        unknown: the same for one that has not answered; as `failed` if it is empty.
        partly: the same for one that has stopped in the midst.
        done: what is said of the others, if anything is.

    Raises:
        Exception: some failed; the text has every one of them, and the type is theirs if it is the
            same for all.
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
