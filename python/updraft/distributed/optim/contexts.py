"""Values of contexts, such as how often one was applied."""

import itertools
import threading
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
