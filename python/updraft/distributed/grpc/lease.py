"""Keeps a client registered with its workers."""

import contextlib
import secrets
import threading
import time
import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING

import grpc

from ...worker.v1 import worker_pb2 as messages

if TYPE_CHECKING:
    from .workers import Workers


#: For the answer to a renewal, in seconds.
_LONGEST_WAIT = 5.0


class Registration:
    """A name of a client, and the workers that know it. Renewed while this object exists."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._workers: set[int] = set()


class Lease:
    """Registers a client with workers, and renews its leases in a thread.

    If a worker has forgotten the client, it takes a new name, because the outcome of requests under
    the old one is unknown. Other workers still know the old name, and their contexts keep it.
    Thread-safe.
    """

    def __init__(self, workers: "Workers", name: str | None) -> None:
        self._workers = workers
        # No other client has this name, not even an earlier process of the same one.
        self._base = f"{name or 'client'}/{secrets.token_hex(8)}"
        self._lock = threading.Lock()
        self._latest = Registration(self._base)
        self._earlier: weakref.WeakSet[Registration] = weakref.WeakSet()
        self._names = 1
        self._interval = 3600.0  # a third of the shortest lease, or less
        self._changed = threading.Condition(self._lock)
        self._is_closed = False
        self._thread: threading.Thread | None = None

    @property
    def name(self) -> str:
        with self._lock:
            return self._latest.name

    def hold(self, workers: Iterable[int]) -> Registration:
        """Registers the client with these workers, unless it is registered.

        Raises:
            WorkersFailedError: some workers failed.
            RuntimeError: the thread doesn't start.
        """
        with self._lock:
            latest = self._latest
            missing = set(workers) - latest._workers
            if not missing:
                return latest
            # Before workers are registered: if the thread doesn't start, the next call tries again.
            if self._thread is None:
                thread = threading.Thread(
                    target=self._renew_until_closed, name="updraft lease", daemon=True
                )
                thread.start()
                self._thread = thread
        request = messages.RegisterRequest(client=latest.name)
        answers = self._workers.call_each(
            missing, lambda stub, worker, timeout: stub.Register(request, timeout=timeout)
        )
        with self._lock:
            latest._workers |= missing
            # Two renewals may fail before a lease ends.
            shortest = min(answer.lease_seconds for answer in answers.values())
            self._interval = min(self._interval, max(shortest / 3, 0.1))
            self._changed.notify_all()
        return latest

    def renew(self) -> None:
        """Renews the leases, and takes a new name if a worker has forgotten the client."""
        with self._lock:
            # Although a worker hangs, the next renewal is in time, and `close` ends soon.
            timeout = min(self._interval / 2, _LONGEST_WAIT)
            held = [
                (registration, worker)
                for registration in (self._latest, *self._earlier)
                for worker in registration._workers
            ]
        # At the same time, so that a worker that hangs doesn't cost others their leases.
        answers = [
            self._workers.stub(worker).KeepAlive.future(
                messages.KeepAliveRequest(client=registration.name), timeout=timeout
            )
            for registration, worker in held
        ]
        forgotten = []
        for each, answer in zip(held, answers, strict=True):
            with contextlib.suppress(grpc.RpcError):
                if not answer.result().is_registered:
                    forgotten.append(each)
        with self._lock:
            latest = self._latest
            for registration, worker in forgotten:
                registration._workers.discard(worker)
            if any(registration is latest for registration, _ in forgotten):
                self._names += 1
                self._earlier.add(latest)
                self._latest = Registration(f"{self._base}.{self._names}")

    def close(self) -> None:
        """Ends the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _wait_for_renewal(self, last: float) -> bool:
        """Waits for the end of the interval since `last`. Returns False once this is closed."""
        with self._changed:
            # `hold` may shorten the interval meanwhile.
            while not self._is_closed and (left := last + self._interval - time.monotonic()) > 0:
                self._changed.wait(left)
            return not self._is_closed

    def _renew_until_closed(self) -> None:
        last = time.monotonic()
        while self._wait_for_renewal(last):
            last = time.monotonic()  # before the wait for answers
            self.renew()
