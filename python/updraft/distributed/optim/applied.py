"""Which contexts a client has stepped."""

import itertools
import threading

from torch._C._distributed_autograd import _is_valid_context

# More than the one that may be added, so that those of contexts that are gone get fewer.
_LOOKS = 4


def _is_open(context_id: int) -> bool:
    try:
        _is_valid_context(context_id)
    except RuntimeError:
        return False
    return True


class AppliedContexts:
    """How often each context was applied; those that are closed are forgotten with time.

    Any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[int, int] = {}

    def __getitem__(self, context_id: int) -> int:
        with self._lock:
            return self._counts.get(context_id, 0)

    def __setitem__(self, context_id: int, count: int) -> None:
        with self._lock:
            self._counts[context_id] = count
            # Dicts go from the oldest entry, behind which those are put that were looked at.
            for known in [*itertools.islice(self._counts, _LOOKS)]:
                times = self._counts.pop(known)
                if _is_open(known):
                    self._counts[known] = times

    def __len__(self) -> int:
        return len(self._counts)
