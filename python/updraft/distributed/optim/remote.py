"""The parts of a distributed optimizer on its workers."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed.rpc as rpc
from torch._C._distributed_rpc import PyRRef, WorkerInfo

from . import operators
from .options import Options
from .outcomes import gathered


@dataclass(eq=False)
class RemoteOptimizer:
    """The part of a distributed optimizer on one worker.

    Args:
        worker: the worker.
        timeout: seconds for each step, as of `operators.call`.
    """

    worker: WorkerInfo
    timeout: float
    #: Chosen here, so that a part can be released whose worker has not answered.
    number: int = field(default_factory=lambda: secrets.randbits(62))
    #: Of each parameter there: its group, and its number among all.
    members: list[tuple[int, int]] = field(default_factory=list)
    rrefs: "list[PyRRef[Any]]" = field(default_factory=list)
    #: The groups and storage types whose hyperparameters a step takes, in this order.
    parts: list[tuple[int, str]] = field(default_factory=list)

    def owner(self) -> WorkerInfo:
        """Returns the worker."""
        return self.worker

    def members_of(self, group: int) -> tuple[list[int], list[int]]:
        """Returns the places of a group's parameters among those there, and their numbers."""
        mine = [(i, number) for i, (of, number) in enumerate(self.members) if of == group]
        return [place for place, _ in mine], [number for _, number in mine]

    def create(self, request: str) -> Any:
        """Makes it on its worker; returns a future of what `set_parts` takes."""
        if self.worker.name == rpc.get_worker_info().name:
            # References that no other worker has are known to nobody but themselves.
            here: torch.futures.Future[str] = torch.futures.Future()
            try:
                params = [rref.local_value() for rref in self.rrefs]
                here.set_result(operators.create_here(self.number, request, params))
            except Exception as error:
                here.set_exception(error)  # type: ignore[arg-type]
            return here
        references = [operators.reference(rref) for rref in self.rrefs]
        created_on = [worker for worker, _ in references]
        local_ids = [number for _, number in references]
        return self.call("create", request, created_on, local_ids)

    def set_parts(self, text: str) -> None:
        """Takes what the worker says of the storage types of parameters: `0:f32 0:bf16 2:f32`."""
        for part in text.split():
            group, _, storage = part.partition(":")
            self.parts.append((int(group), storage))

    def call(self, name: str, *args: Any, timeout: float = -1.0) -> Any:
        """Calls an operator for this optimizer, and returns the future of its value."""
        return operators.call(self.worker, name, self.number, *args, timeout=timeout)


def made_remotes(parts: Any, groups: Sequence[dict[str, Any]], options: Options) -> Any:
    """Makes a part on each worker that has parameters of the groups: on all of them, or on none.

    Args:
        parts: how; `CompiledParts` or `EagerParts`.
    """
    by_name: dict[str, RemoteOptimizer] = {}
    timeout = -1.0 if options.timeout is None else options.timeout
    number = 0
    for place, group in enumerate(groups):
        for rref in group["params"]:
            worker = rref.owner()
            remote = by_name.setdefault(worker.name, RemoteOptimizer(worker, timeout))
            remote.members.append((place, number))
            remote.rrefs.append(rref)
            number += 1
    remotes = [*by_name.values()]
    try:
        gathered(
            {name: parts.load(remote) for name, remote in by_name.items()},
            "Updraft does not load on",
        )
        answers = gathered(
            {name: parts.create(remote, groups) for name, remote in by_name.items()},
            "no optimizer was made on",
        )
    except BaseException:
        parts.release(remotes)
        raise
    for name, remote in by_name.items():
        parts.take(remote, answers[name])
    return remotes
