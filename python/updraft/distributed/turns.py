"""Turns that threads take with one context."""

import threading
import weakref

#: From how many contexts on those that nobody uses are looked for.
_MANY = 1000


class Turns:
    """One turn at a time for each context.

    A turn is a lock and nothing else, so that an interrupt finds it taken or not.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: Locks last while somebody has them or waits for them.
        self._locks: dict[int, weakref.ref[threading.Lock]] = {}

    def of(self, context_id: int) -> threading.Lock:
        """Within it, nobody else is within that of the same context."""
        with self._lock:
            known = self._locks.get(context_id)
            lock = None if known is None else known()
            if lock is None:
                if len(self._locks) >= _MANY:
                    self._locks = {key: ref for key, ref in self._locks.items() if ref()}
                lock = threading.Lock()
                self._locks[context_id] = weakref.ref(lock)
            return lock
