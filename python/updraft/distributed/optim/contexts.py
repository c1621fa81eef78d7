"""What is of each context: values, such as how often one was applied, and turns."""

import contextlib
import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from torch._C._distributed_autograd import _is_valid_context

Value = TypeVar("Value")

# More than the one that may be added, so that those of contexts that are gone get fewer.
_LOOKS = 4


def _is_open(context_id: int) -> bool:
    try:
        _is_valid_context(context_id)
    except RuntimeError:
        return False
    return True


class ContextTable(Generic[Value]):
    """Values by the numbers of contexts; those of contexts that are closed go with time.

    Any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[int, Value] = {}

    def get(self, context_id: int, default: Value) -> Value:
        with self._lock:
            return self._values.get(context_id, default)

    def __setitem__(self, context_id: int, value: Value) -> None:
        with self._lock:
            self._values[context_id] = value
            # Dicts go from the oldest entry, behind which those are put that were looked at.
            for known in [*itertools.islice(self._values, _LOOKS)]:
                of_known = self._values.pop(known)
                if _is_open(known):
                    self._values[known] = of_known

    def __len__(self) -> int:
        return len(self._values)


@dataclass
class _Turn:
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0


class Turns:
    """Lets one thread at a time do something for a context, and others for other contexts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[int, _Turn] = {}

    @contextlib.contextmanager
    def of(self, context_id: int) -> Iterator[None]:
        """Waits until nobody else is within that of the same context."""
        with self._lock:
            turn = self._turns.setdefault(context_id, _Turn())
            turn.users += 1
        try:
            with turn.lock:
                yield
        finally:
            with self._lock:
                turn.users -= 1
                if turn.users == 0:
                    del self._turns[context_id]
