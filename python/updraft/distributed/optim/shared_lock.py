"""A lock that many threads share, or one has alone."""

import contextlib
import threading
from collections.abc import Iterator


class _Share:
    """What one of those has who share a lock, from `with` on."""

    def __init__(self, lock: "SharedLock") -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.share()

    def __exit__(self, *_: object) -> None:
        self._lock.give_back()


class SharedLock:
    """Any number of threads share it, or one has it alone, for which others then wait.

    Nobody who has it may ask for it again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._sharing = 0
        #: Threads that have it alone or wait for that.
        self._alone = 0
        self._taken = False
        self._share = _Share(self)

    def shared(self) -> _Share:
        """Within it, nobody has the lock alone."""
        return self._share

    def share(self) -> None:
        """Waits until nobody has it alone, or wants to."""
        with self._lock:
            if self._alone:
                self._changed.wait_for(lambda: self._alone == 0)
            self._sharing += 1

    def give_back(self) -> None:
        """Ends what `share` began."""
        with self._lock:
            self._sharing -= 1
            if self._alone:
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until nobody else has it."""
        with self._changed:
            self._alone += 1
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._sharing == 0 and not self._taken)
                self._taken = True
            try:
                yield
            finally:
                with self._changed:
                    self._taken = False
        finally:
            with self._changed:
                self._alone -= 1
                self._changed.notify_all()
