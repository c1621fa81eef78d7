"""The optimizers that a distributed optimizer has on its workers."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.distributed import rpc
from torch.distributed.rpc import PyRRef, WorkerInfo

from ...torch_private import world_number
from . import operators
from .arrivals import after, awaited
from .outcomes import begun, gathered
from .reference_like import ReferenceLike
from .references import require_tensors


@dataclass(eq=False)
class RemoteOptimizer(ReferenceLike):
    """The optimizer of the parameters on one worker.

    Like an `RRef`, it has `owner()`, `owner_name()` and `is_owner()`.

    Args:
        worker: the worker.
        timeout: seconds for each step, as in `operators.call`.

    Example:
        >>> from updraft.distributed.optim import DistributedOptimizer
        >>> weight = torch.distributed.rpc.RRef(torch.nn.Parameter(torch.ones(2)))
        >>> optimizer = DistributedOptimizer(torch.optim.SGD, [weight])
        >>> [remote.owner_name() for remote in optimizer.remote_optimizers]
        ['worker0']
    """

    worker: WorkerInfo
    timeout: float
    #: The number of this optimizer on the worker. The client chooses it, to be able to release the
    #: optimizer even if the worker has not answered.
    number: int = field(default_factory=lambda: secrets.randbits(62))
    #: The group of each parameter there, and its index among all parameters.
    members: list[tuple[int, int]] = field(default_factory=list)
    rrefs: "list[PyRRef[Any]]" = field(default_factory=list)
    #: The groups and storage types whose hyperparameters a step takes, in order.
    buckets: list[tuple[int, str]] = field(default_factory=list)

    def members_of(self, group: int) -> tuple[list[int], list[int]]:
        """Returns the positions of a group's parameters among those there, and their indices."""
        mine = [(place, index) for place, (of, index) in enumerate(self.members) if of == group]
        return [place for place, _ in mine], [index for _, index in mine]

    def create(self, request: str) -> Any:
        """Creates it on its worker; returns a future of the argument of `set_buckets`."""
        if self.is_owner():
            # References that no other worker has don't have a number.
            return begun(self._create_here, request)
        names = [f"parameter {index}" for _, index in self.members]
        named = operators.references(self.rrefs)
        return begun(
            after,
            awaited(self.worker, self.rrefs, names),
            lambda: self.call("create", request, *named),
        )

    def _create_here(self, request: str) -> Any:
        made: torch.futures.Future[str] = torch.futures.Future()
        params = [rref.local_value() for rref in self.rrefs]
        require_tensors(params, (index for _, index in self.members))
        made.set_result(operators.create_here(self.number, request, params))
        return made

    def set_buckets(self, text: str) -> None:
        """Parses the worker's answer about storage types of parameters: `0:f32 0:bf16 2:f32`."""
        for bucket in text.split():
            group, _, storage = bucket.partition(":")
            self.buckets.append((int(group), storage))

    def call(self, name: str, *args: Any, timeout: float = -1.0) -> Any:
        """Calls an operator for this optimizer, and returns the future of its value."""
        return begun(operators.call, self.worker, name, self.number, *args, timeout=timeout)


#: The number of a world, and its workers that have loaded the operators.
_loaded: tuple[int, set[str]] = (0, set())


def loaded_on(workers: Iterable[WorkerInfo]) -> list[str]:
    """Makes workers load the operators, once per world. Returns their names, with this one's last,
    because work here would delay the requests to others.
    """
    global _loaded
    if _loaded[0] != world_number(rpc):
        _loaded = world_number(rpc), set()
    known = _loaded[1]
    others_first = sorted(workers, key=operators.is_here)
    asked = {
        worker.name: begun(operators.load_on, worker)
        for worker in others_first
        if worker.name not in known
    }
    known.update(gathered(asked, "cannot load Updraft on"))
    return [worker.name for worker in others_first]
