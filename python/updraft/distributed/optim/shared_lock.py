"""A lock that many threads can share, or one can hold exclusively."""

import contextlib
import threading
import weakref
from collections.abc import Iterator


class SharedLock:
    """Held by any number of threads together, or by one thread exclusively.

    Each thread has its own lock for sharing. An exclusive holder locks those of all threads. So an
    interrupt finds each lock either taken or not, whereas it could leave a counter half changed.
    The lock isn't reentrant.
    """

    def __init__(self) -> None:
        #: Held by the exclusive holder, or a thread that waits for exclusive access.
        self._alone = threading.Lock()
        self._own = threading.local()
        #: The locks of existing threads.
        self._locks: weakref.WeakSet[contextlib.AbstractContextManager[bool]] = weakref.WeakSet()

    def shared(self) -> contextlib.AbstractContextManager[bool]:
        """Waits until no thread holds or wants it exclusively, and shares it within the block."""
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
        """Waits until no other thread holds it, and holds it exclusively within the block."""
        with self._alone:
            yield from _within([*self._locks])


def _within(locks: list[contextlib.AbstractContextManager[bool]]) -> Iterator[None]:
    """Holds all locks at the `yield`. After an interrupt, an ExitStack could keep a lock."""
    if not locks:
        yield
        return
    with locks.pop():
        yield from _within(locks)
