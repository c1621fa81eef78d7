"""How the parts of an optimizer are made and stepped where there is no compiled rule for its class:
by the class itself, in Python, on each worker.
"""

import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed.rpc as rpc
from torch._C._distributed_autograd import get_gradients

from ...optim.adapter import StorageLocks
from ...optim.correspondence import Group
from .applied import AppliedContexts
from .references import stand_ins
from .remote import RemoteOptimizer

_APPLIED_BEFORE = -1


def _options(group: Group) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


class _Part:
    """An optimizer of one worker, on that worker."""

    def __init__(self, kind: Any, groups: list[Group], args: Any, kwargs: Any) -> None:
        self.optimizer = kind(groups, *args, **kwargs)
        self.params = [param for group in groups for param in group["params"]]
        self.locks = StorageLocks(self.params)
        self.mutex = threading.Lock()
        self.applied = AppliedContexts()

    def step(self, context_id: int, before: int, options: list[dict[str, Any]]) -> int:
        try:
            held = get_gradients(context_id)
        except RuntimeError:  # This worker has not heard of it.
            return 0
        with self.mutex:
            if self.applied[context_id] > before:
                return _APPLIED_BEFORE
            given = [param for param in self.params if param in held]
            if not given:
                return 0
            for group, changed in zip(self.optimizer.param_groups, options, strict=True):
                group.update(changed)
            self.locks.lock()
            try:
                self._step_with(held)
            finally:
                self.locks.unlock()
            self.applied[context_id] = before + 1
            return len(given)

    def _step_with(self, held: dict[torch.Tensor, torch.Tensor]) -> None:
        """Steps once. Gradients are copies, which the class may write; `.grad` is put back."""
        own = [param.grad for param in self.params]
        try:
            for param in self.params:
                param.grad = held[param].clone() if param in held else None
            self.optimizer.step()
        finally:
            for param, grad in zip(self.params, own, strict=True):
                param.grad = grad


_parts: dict[int, _Part] = {}


def _create(
    number: int, kind: Any, groups: list[Group], rrefs: list[list[Any]], args: Any, kwargs: Any
) -> None:
    whole = [
        group | {"params": [rref.local_value() for rref in mine]}
        for group, mine in zip(groups, rrefs, strict=True)
    ]
    for group in whole:
        for place, param in enumerate(group["params"]):
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    f"parameter {place} is a reference to {param!r}, which is no tensor"
                )
    _parts[number] = _Part(kind, whole, args, kwargs)


def _step(number: int, context_id: int, before: int, options: list[dict[str, Any]]) -> int:
    return _parts[number].step(context_id, before, options)


def _states(number: int) -> list[dict[str, Any]]:
    optimizer = _parts[number].optimizer
    return [dict(optimizer.state.get(param, {})) for param in _parts[number].params]


def _load_states(number: int, states: dict[int, dict[str, Any]]) -> None:
    optimizer = _parts[number].optimizer
    optimizer.load_state_dict(optimizer.state_dict() | {"state": states})


def _release(number: int) -> None:
    _parts.pop(number, None)


class EagerParts:
    """Steps parts by the class itself, one Python call for each; see `CompiledParts`."""

    def __init__(self, kind: Any, groups: Sequence[Group], args: Any, kwargs: Any) -> None:
        self.kind, self.args, self.kwargs = kind, args, kwargs
        self.template = kind(stand_ins(groups), *args, **kwargs)
        self.defaults: dict[str, Any] = self.template.defaults

    def load(self, remote: RemoteOptimizer) -> Any:
        return rpc.rpc_async(remote.worker, _release, args=(remote.number,))

    def create(self, remote: RemoteOptimizer, groups: Sequence[Group]) -> Any:
        members = [remote.members_of(group)[0] for group in range(len(groups))]
        mine = [(group, places) for group, places in zip(groups, members, strict=True) if places]
        return rpc.rpc_async(
            remote.worker,
            _create,
            args=(
                remote.number,
                self.kind,
                [_options(group) for group, _ in mine],
                [[remote.rrefs[place] for place in places] for _, places in mine],
                self.args,
                self.kwargs,
            ),
        )

    def take(self, remote: RemoteOptimizer, answer: Any) -> None:
        pass

    def asked(self, remote: RemoteOptimizer, groups: Sequence[Group]) -> list[dict[str, Any]]:
        return [
            _options(group) for place, group in enumerate(groups) if remote.members_of(place)[0]
        ]

    def step(
        self, remote: RemoteOptimizer, asked: list[dict[str, Any]], context_id: int, before: int
    ) -> Any:
        return rpc.rpc_async(
            remote.worker,
            _step,
            args=(remote.number, context_id, before, asked),
            timeout=remote.timeout,
        )

    def release(self, remotes: Sequence[RemoteOptimizer]) -> None:
        for remote in remotes:
            with contextlib.suppress(RuntimeError):
                rpc.rpc_async(remote.worker, _release, args=(remote.number,))

    #: It may have any states.
    state_names = None
    counts_steps = False

    def _numbers(self, remote: RemoteOptimizer) -> list[int]:
        """The indices of a part's parameters, in its order."""
        last = max(group for group, _ in remote.members)
        return [number for group in range(last + 1) for number in remote.members_of(group)[1]]

    def states(self, remote: RemoteOptimizer) -> Any:
        return rpc.rpc_async(remote.worker, _states, args=(remote.number,))

    def packed(self, remote: RemoteOptimizer, answer: Any) -> dict[int, dict[str, Any]]:
        numbers = self._numbers(remote)
        return {number: state for number, state in zip(numbers, answer, strict=True) if state}

    def load_states(self, remote: RemoteOptimizer, states: dict[int, dict[str, Any]]) -> Any:
        own = {
            place: states[number]
            for place, number in enumerate(self._numbers(remote))
            if number in states
        }
        return rpc.rpc_async(remote.worker, _load_states, args=(remote.number, own))

    def accept(self, groups: Sequence[Group]) -> None:
        pass

    def require_settings(self, groups: Sequence[Group]) -> None:
        """Nothing is compiled."""
