"""Waiting for references whose owners are still creating the values.

An owner waits at most a second, so that a dead client doesn't block a thread there. The client asks
again, for three quarters of `rpc_timeout`. The rest of the time is for the call itself.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.distributed.rpc import PyRRef, WorkerInfo, get_rpc_timeout

from . import operators

_PATIENCE = 1.0  # seconds that an owner waits


class _Arrival:
    """The wait for references of one owner.

    Args:
        worker: the owner.
        rrefs: the references.
        names: their names in messages.
    """

    def __init__(
        self, worker: WorkerInfo, rrefs: "Sequence[PyRRef[Any]]", names: Sequence[str]
    ) -> None:
        self.done: torch.futures.Future[None] = torch.futures.Future()
        self._worker = worker
        self._created_on, self._local_ids = operators.references(rrefs)
        self._names = names
        self._come = 0
        self._limit = 0.75 * get_rpc_timeout() or math.inf
        self._end = time.monotonic() + self._limit

    def ask(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise RuntimeError(
                f"TimeoutError: timed out after {self._limit:g} s waiting for "
                f"{self._names[self._come]}: the call that creates it on this worker has not "
                "finished, or was never requested"
            )
        answer = operators.call(
            self._worker,
            "await",
            self._created_on[self._come :],
            self._local_ids[self._come :],
            min(left, _PATIENCE),
            timeout=-1.0,
        )
        answer.add_done_callback(self._take)

    def _take(self, answer: Any) -> None:
        try:
            self._come += answer.value()
            if self._come < len(self._names):
                self.ask()
                return
        except Exception as error:
            self.done.set_exception(error)  # type: ignore[arg-type]
        else:
            self.done.set_result(None)


def awaited(
    worker: WorkerInfo, rrefs: "Sequence[PyRRef[Any]]", names: Sequence[str]
) -> "torch.futures.Future[None]":
    """Returns a future that completes when the values of references exist on their owner.

    Args:
        worker: the owner, which is another worker.
        rrefs: the references.
        names: their names in messages.
    """
    # The value of a confirmed reference exists.
    waiting = [
        (rref, name)
        for rref, name in zip(rrefs, names, strict=True)
        if not rref.confirmed_by_owner()
    ]
    if not waiting:
        done: torch.futures.Future[None] = torch.futures.Future()
        done.set_result(None)
        return done
    arrival = _Arrival(worker, [rref for rref, _ in waiting], [name for _, name in waiting])
    arrival.ask()
    return arrival.done


def after(first: Any, call: Callable[[], Any]) -> Any:
    """Makes a call when a future has completed; returns a future of the call's answer.

    The call returns a future. If `first` is not complete yet, the thread that completes it makes
    the call.
    """
    if first.done():
        first.wait()
        return call()
    outcome: torch.futures.Future[Any] = torch.futures.Future()

    def finish(future: Any) -> None:
        try:
            outcome.set_result(future.value())
        except Exception as error:
            outcome.set_exception(error)  # type: ignore[arg-type]

    def proceed(future: Any) -> None:
        try:
            future.value()
            call().add_done_callback(finish)
        except Exception as error:
            outcome.set_exception(error)  # type: ignore[arg-type]

    first.add_done_callback(proceed)
    return outcome
