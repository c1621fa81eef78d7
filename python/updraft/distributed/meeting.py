"""Waiting for other workers. The wait fails if one of them can't arrive."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import InvalidArgumentError
from . import world
from .errors import DistributedError
from .world import get_world_rank

# The seconds between checks whether missing workers are alive, and the timeout of a check. A busy
# worker may answer late: only a broken connection means that it has ended.
PERIOD = 2.0
PATIENCE = 10.0

# The mark of torch's timeouts.
TIMED_OUT = "RPCErr:1:"

# The workers of a meeting, and the number of meetings that they had before.
Key = tuple[tuple[int, ...], int]

_changed = threading.Condition()
_counts: dict[tuple[int, ...], int] = {}
_arrived: dict[Key, set[int]] = {}
_over: set[Key] = set()
_failure: str | None = None


class PeerError(DistributedError):
    """Another worker has failed."""


def reset() -> None:
    """Forgets an earlier world."""
    global _failure
    with _changed:
        _counts.clear()
        _arrived.clear()
        _over.clear()
        _failure = None


def _arrive(key: Key, rank: int) -> None:
    with _changed:
        _arrived.setdefault(key, set()).add(rank)
        _changed.notify_all()


def _end(key: Key) -> None:
    with _changed:
        _over.add(key)
        _changed.notify_all()


def _fail(text: str) -> None:
    global _failure
    with _changed:
        _failure = _failure or text
        _changed.notify_all()


def _live() -> None:
    """Called on a worker to check that it is alive."""


def _tell(
    ranks: Iterable[int],
    names: dict[int, str],
    func: Callable[..., None],
    args: tuple[Any, ...] = (),
    timeout: float = PATIENCE,
) -> None:
    """Calls a function on workers. If one of them has ended, raises an error after all calls."""
    from torch.distributed import rpc

    futures: list[tuple[int, Any]] = []
    errors: list[tuple[int, RuntimeError]] = []
    for rank in ranks:
        try:
            futures.append((rank, rpc.rpc_async(rank, func, args=args, timeout=timeout)))
        except RuntimeError as error:
            errors.append((rank, error))
    for rank, future in futures:
        try:
            future.wait()
        except RuntimeError as error:
            if TIMED_OUT not in str(error):
                errors.append((rank, error))
    if errors:
        rank, first = errors[0]
        text = str(first).partition("\nException raised from")[0]
        raise PeerError(f"worker `{names[rank]}` has ended: {text}")


def announce_failure(text: str) -> None:
    """Tells all others that this worker has failed, unless they know of another failure."""
    if _failure is not None:
        return
    names = _names()
    with contextlib.suppress(PeerError):
        _tell([rank for rank in names if rank != get_world_rank()], names, _fail, (text,))


def barrier(worker_names: Iterable[str] | None = None) -> None:
    """Waits until all workers, or those with the given names, have reached this call.

    Raises an error if one of them has ended or failed, so that it can't arrive.

    Args:
        worker_names: the names, including this worker's; None for all workers.

    Example:
        >>> updraft.distributed.barrier()
        >>> updraft.distributed.barrier(["worker0"])
    """
    names = _names()
    ranks = tuple(sorted(_ranks_named(worker_names, names)))
    here, leader = get_world_rank(), ranks[0]
    with _changed:
        key = ranks, _counts.get(ranks, 0)
        _counts[ranks] = key[1] + 1
    if here == leader:
        _arrive(key, here)
        _wait(key, ranks, names)
        _tell(ranks[1:], names, _end, (key,), timeout=0)
    else:
        _tell([leader], names, _arrive, (key, here), timeout=0)
        _wait(key, [leader], names)


synchronize = barrier


def _wait(key: Key, ranks: Iterable[int], names: dict[int, str]) -> None:
    """Waits for the end of the meeting; the leader waits for all `ranks`."""
    next_look = time.monotonic() + PERIOD
    leading = get_world_rank() in ranks
    while True:
        with _changed:
            arrived = _arrived.get(key, set())
            if key in _over or (leading and arrived.issuperset(ranks)):
                _over.discard(key)
                _arrived.pop(key, None)
                return
            if _failure is not None:
                raise PeerError(_failure)
            _changed.wait(timeout=PERIOD)
            missing = [rank for rank in ranks if rank not in arrived]
        if time.monotonic() >= next_look:
            _tell(missing, names, _live)
            next_look = time.monotonic() + PERIOD


def _names() -> dict[int, str]:
    return {rank: info.name for rank, info in world.workers().items()}


def _ranks_named(chosen: Iterable[str] | None, names: dict[int, str]) -> set[int]:
    if chosen is None:
        return {*names}
    if isinstance(chosen, str):
        raise TypeError(f"the worker names are `{chosen!r}`; give a list of names")
    ranks = {world.get_worker_id(name) for name in chosen}
    if get_world_rank() not in ranks:
        raise InvalidArgumentError(
            "this worker is not in the list of the barrier; add it, or don't call the barrier here"
        )
    return ranks
