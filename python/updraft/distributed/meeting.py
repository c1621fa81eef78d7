"""Waiting for other workers, which ends with an error when one of them cannot come."""

import threading
import time
from collections.abc import Iterable

from ..errors import InvalidArgumentError
from . import world
from .errors import DistributedError
from .world import get_world_rank

# How often those that have not come are asked whether they live, in seconds; and how long for an
# answer. A busy one may answer late: only a broken connection tells that it has ended.
PERIOD = 2.0
PATIENCE = 10.0

# The workers of a meeting, and how many they had before.
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
    """Asked of a worker to see whether it lives."""


def announce_failure(text: str) -> None:
    """Tells all others that this worker has failed, unless they were told of another."""
    from torch.distributed import rpc

    if _failure is not None:
        return
    others = [id for id in world.worker_names().values() if id != get_world_rank()]
    futures = []
    for other in others:
        try:
            futures.append(rpc.rpc_async(other, _fail, args=(text,), timeout=PATIENCE))
        except RuntimeError:
            continue
    for future in futures:
        try:
            future.wait()
        except RuntimeError:
            continue


class _Watch:
    """Asks now and then whether workers live."""

    def __init__(self) -> None:
        self.next = time.monotonic() + PERIOD

    def look(self, ranks: Iterable[int], names: dict[int, str]) -> None:
        if time.monotonic() < self.next:
            return
        from torch.distributed import rpc

        asked = [(rank, rpc.rpc_async(rank, _live, timeout=PATIENCE)) for rank in ranks]
        for rank, future in asked:
            try:
                future.wait()
            except RuntimeError as error:
                # As torch marks a timeout.
                if "RPCErr:1:" not in str(error):
                    raise PeerError(
                        f"worker `{names[rank]}` has ended: "
                        + str(error).partition("\nException raised from")[0]
                    ) from None
        self.next = time.monotonic() + PERIOD


def barrier(worker_names: Iterable[str] | None = None) -> None:
    """Waits until all workers have come to this call, or those of the given names.

    Raises an error when one of them has ended or failed, and so will not come.

    Args:
        worker_names: the names, this worker's own among them; None for all.

    Example:
        >>> updraft.distributed.barrier()
        >>> updraft.distributed.barrier(["worker0"])
    """
    from torch.distributed import rpc

    known = world.worker_names()
    ranks = tuple(sorted(_ranks_named(worker_names, known)))
    here, leader = get_world_rank(), ranks[0]
    names = {rank: name for name, rank in known.items()}
    with _changed:
        key = ranks, _counts.get(ranks, 0)
        _counts[ranks] = key[1] + 1
    if here != leader:
        try:
            rpc.rpc_sync(leader, _arrive, args=(key, here), timeout=0)
            _wait(key, [leader], names)
        except PeerError:
            raise
        except RuntimeError as error:
            raise PeerError(f"worker `{names[leader]}` has ended: {error}") from None
        return
    _arrive(key, here)
    _wait(key, ranks, names)
    futures = [rpc.rpc_async(rank, _end, args=(key,), timeout=0) for rank in ranks[1:]]
    for future in futures:
        future.wait()


synchronize = barrier


def _wait(key: Key, ranks: Iterable[int], names: dict[int, str]) -> None:
    """Waits for the end; as the leader, for all `ranks`."""
    watch = _Watch()
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
        watch.look(missing, names)


def _ranks_named(chosen: Iterable[str] | None, known: dict[str, int]) -> set[int]:
    if chosen is None:
        return {*known.values()}
    if isinstance(chosen, str):
        raise TypeError(f"the worker names are `{chosen!r}`; give a list of names")
    names = [*chosen]
    for name in names:
        if name not in known:
            raise InvalidArgumentError(
                f"there is no worker `{name}`; there are "
                + ", ".join(f"`{other}`" for other in known)
            )
    ranks = {known[name] for name in names}
    if get_world_rank() not in ranks:
        raise InvalidArgumentError(
            "this worker is not among those that the barrier waits for; leave it to them, or add it"
        )
    return ranks
