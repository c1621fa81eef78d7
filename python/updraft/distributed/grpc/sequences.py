"""Numbers of a client's requests."""

import threading


class Sequences:
    """Numbers of pushes and steps, in ascending order. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0
        self._steps: set[int] = set()  # the unanswered ones

    def next(self) -> int:
        """Returns the number of a push."""
        with self._lock:
            self._last += 1
            return self._last

    def begin_step(self) -> int:
        """Returns the number of a step, whose answer workers keep until `end_step`."""
        with self._lock:
            self._last += 1
            self._steps.add(self._last)
            return self._last

    def end_step(self, sequence: int) -> None:
        with self._lock:
            self._steps.discard(sequence)

    def answered(self) -> int:
        """Returns a number below which no step is repeated any more."""
        with self._lock:
            return min(self._steps, default=self._last + 1)
