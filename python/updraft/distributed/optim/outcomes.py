"""What all workers have answered."""

import re
from collections.abc import Mapping
from typing import Any

# Before the text of an error, by runtime/torch/rpc/Operators.cpp.
_TYPED = re.compile(r"\A(ValueError|TypeError|IndexError|NotImplementedError|RuntimeError): ")
_TYPES: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (ValueError, TypeError, IndexError, NotImplementedError, RuntimeError)
}


class _Failure:
    """What came instead of an answer."""

    def __init__(self, error: Exception) -> None:
        text = str(error)
        match = _TYPED.match(text)
        #: Whether the worker itself has said so; else it may have done what it was asked.
        self.is_answer = match is not None
        self.kind = type(error) if match is None else _TYPES[match[1]]
        self.text = (text if match is None else text[match.end() :]).strip()


def gathered(
    futures: Mapping[str, Any], failed: str, unknown: str = "", done: str = ""
) -> dict[str, Any]:
    """Waits for all futures, by the names of workers, and returns their values.

    Args:
        failed: what is said before the name of a worker that has refused.
        unknown: the same for one that has not answered; as `failed` if it is empty.
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
    parts = [
        f"{failed if failure.is_answer else unknown or failed} `{name}`: {failure.text}"
        for name, failure in failures.items()
    ]
    if done and values:
        parts.append(f"{done} {', '.join(f'`{name}`' for name in values)}")
    kinds = {failure.kind for failure in failures.values()}
    kind = kinds.pop() if len(kinds) == 1 else RuntimeError
    raise kind("; ".join(parts))
