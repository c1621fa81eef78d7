"""Turns that threads take with one context."""

import threading


class _Turn:
    """One thread's turn, from `with` on."""

    def __init__(self, turns: "Turns", context_id: int) -> None:
        self._turns = turns
        self._context_id = context_id

    def __enter__(self) -> None:
        self._turns.take(self._context_id)

    def __exit__(self, *_: object) -> None:
        self._turns.pass_on(self._context_id)


class Turns:
    """Lets one thread at a time do something for a context, and others for other contexts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)
        self._waiting = 0
        self._taken: set[int] = set()

    def of(self, context_id: int) -> _Turn:
        """Within it, nobody else is within that of the same context."""
        return _Turn(self, context_id)

    def take(self, context_id: int) -> None:
        """Waits for the turn of a context."""
        with self._lock:
            if context_id in self._taken:
                self._waiting += 1
                try:
                    self._ended.wait_for(lambda: context_id not in self._taken)
                finally:
                    self._waiting -= 1
            self._taken.add(context_id)

    def pass_on(self, context_id: int) -> None:
        """Ends a turn."""
        with self._lock:
            self._taken.remove(context_id)
            if self._waiting:
                self._ended.notify_all()
