"""Keeps a client registered with its workers."""

import contextlib
import secrets
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

import grpc

from ...worker.v1 import worker_pb2 as messages

if TYPE_CHECKING:
    from .workers import Workers


class Lease:
    """Registers a client with workers, and renews its leases in a thread.

    If a worker has forgotten the client, it takes a new name, because the outcome of requests under
    the old one is unknown. Thread-safe.
    """

    def __init__(self, workers: "Workers", name: str | None) -> None:
        self._workers = workers
        # No other client has this name, not even an earlier process of the same one.
        self._base = f"{name or 'client'}/{secrets.token_hex(8)}"
        self._lock = threading.Lock()
        self._name = self._base
        self._names = 1
        self._registered: set[int] = set()
        self._interval = 3600.0  # a third of the shortest lease, or less
        self._changed = threading.Condition(self._lock)
        self._is_closed = False
        self._thread: threading.Thread | None = None

    @property
    def name(self) -> str:
        with self._lock:
            return self._name

    def hold(self, workers: Iterable[int]) -> str:
        """Registers the client with these workers, unless it is registered. Returns its name.

        Raises:
            WorkersFailedError: some workers failed.
            RuntimeError: the thread doesn't start.
        """
        with self._lock:
            name = self._name
            missing = set(workers) - self._registered
            if not missing:
                return name
            # Before workers are registered: if the thread doesn't start, the next call tries again.
            if self._thread is None:
                thread = threading.Thread(
                    target=self._renew_until_closed, name="updraft lease", daemon=True
                )
                thread.start()
                self._thread = thread
        request = messages.RegisterRequest(client=name)
        answers = self._workers.call_each(
            missing, lambda stub, worker, timeout: stub.Register(request, timeout=timeout)
        )
        with self._lock:
            if self._name == name:
                self._registered |= missing
            # Two renewals may fail before a lease ends.
            shortest = min(answer.lease_seconds for answer in answers.values())
            self._interval = min(self._interval, max(shortest / 3, 0.1))
            self._changed.notify_all()
        return name

    def renew(self) -> None:
        """Renews the leases, and takes a new name if a worker has forgotten the client."""
        with self._lock:
            name, registered, timeout = self._name, list(self._registered), self._interval
        # At the same time, so that a worker that hangs doesn't cost others their leases.
        request = messages.KeepAliveRequest(client=name)
        answers = [
            self._workers.stub(worker).KeepAlive.future(request, timeout=timeout)
            for worker in registered
        ]
        is_forgotten = False
        for answer in answers:
            with contextlib.suppress(grpc.RpcError):
                is_forgotten |= not answer.result().is_registered
        with self._lock:
            if is_forgotten and self._name == name:
                self._names += 1
                self._name = f"{self._base}.{self._names}"
                self._registered.clear()

    def close(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _wait_for_renewal(self) -> bool:
        """Returns False once this is closed."""
        last = time.monotonic()
        with self._changed:
            # `hold` may shorten the interval meanwhile.
            while not self._is_closed and (left := last + self._interval - time.monotonic()) > 0:
                self._changed.wait(left)
            return not self._is_closed

    def _renew_until_closed(self) -> None:
        while self._wait_for_renewal():
            self.renew()
