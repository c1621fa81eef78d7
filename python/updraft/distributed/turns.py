"""Turns that threads take with one context."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


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
