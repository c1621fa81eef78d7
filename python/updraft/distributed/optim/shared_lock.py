"""A lock that many threads share, or one has alone."""

import contextlib
import threading
import weakref
from collections.abc import Iterator


class SharedLock:
    """Any number of threads share it, or one has it alone, for which others then wait.

    Each thread has a lock of its own to share it by, and who has it alone has those of all: an
    interrupt finds a lock taken or not, where it may find a number of threads half changed. Nobody
    who has it may ask for it again.
    """

    def __init__(self) -> None:
        #: Of who has it alone, or waits for that.
        self._alone = threading.Lock()
        self._own = threading.local()
        #: Those of threads that are there.
        self._locks: weakref.WeakSet[contextlib.AbstractContextManager[bool]] = weakref.WeakSet()

    def shared(self) -> contextlib.AbstractContextManager[bool]:
        """Waits until nobody has it alone, or wants to. Within it, on this thread, nobody has."""
        if self._alone.locked():
            with self._alone:
                pass
        try:
            lock: contextlib.AbstractContextManager[bool] = self._own.lock
        except AttributeError:
            with self._alone:
                lock = self._own.lock = threading.RLock()
                self._locks.add(lock)
        return lock

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until nobody else has it."""
        with self._alone:
            yield from _within([*self._locks])


def _within(locks: list[contextlib.AbstractContextManager[bool]]) -> Iterator[None]:
    """Has all locks at the `yield`; an ExitStack may keep one that it is interrupted after."""
    if not locks:
        yield
        return
    with locks.pop():
        yield from _within(locks)
