"""Turns of threads that use the same context."""

import threading
import weakref

#: The number of contexts from which unused ones are removed.
_MANY = 1000


class Turns:
    """One turn at a time for each context.

    A turn is just a lock, so that an interrupt finds it either taken or not.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: A lock exists while a thread holds it or waits for it.
        self._locks: dict[int, weakref.ref[threading.Lock]] = {}

    def of(self, context_id: int) -> threading.Lock:
        """Excludes other threads in the same context within the block."""
        with self._lock:
            known = self._locks.get(context_id)
            lock = None if known is None else known()
            if lock is None:
                if len(self._locks) >= _MANY:
                    self._locks = {key: ref for key, ref in self._locks.items() if ref()}
                lock = threading.Lock()
                self._locks[context_id] = weakref.ref(lock)
            return lock
