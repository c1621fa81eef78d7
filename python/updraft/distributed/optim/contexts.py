"""A table of values by context, such as how many times it was applied."""

import threading
from typing import Generic, TypeVar

from ...torch_private import autograd_debug_info, is_valid_context

Value = TypeVar("Value")

# Tables up to this size are kept without checks.
_FEW = 64


def _is_open(context_id: int) -> bool:
    try:
        is_valid_context(context_id)
    except RuntimeError:
        return False
    return True


class ContextTable(Generic[Value]):
    """Values by context id. Values of closed contexts are removed eventually.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: The newest is last.
        self._values: dict[int, Value] = {}
        self._limit = _FEW

    def get(self, context_id: int, default: Value) -> Value:
        with self._lock:
            return self._values.get(context_id, default)

    def __setitem__(self, context_id: int, value: Value) -> None:
        with self._lock:
            self._values.pop(context_id, None)
            self._values[context_id] = value
            if len(self._values) > self._limit:
                self._forget_closed()

    def _forget_closed(self) -> None:
        """Checks all contexts only after as many were added since the last check."""
        # torch reports a closed context by an exception, which is slow. So this checks the newest
        # first, and stops when it has found all open contexts.
        open_contexts = int(autograd_debug_info()["num_autograd_contexts"])
        still_open: list[int] = []
        for known in reversed(self._values):
            if len(still_open) == open_contexts:
                break
            if _is_open(known):
                still_open.append(known)
        self._values = {known: self._values[known] for known in reversed(still_open)}
        self._limit = 2 * len(self._values) + _FEW

    def __len__(self) -> int:
        return len(self._values)
