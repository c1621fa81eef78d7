"""How the parts of an optimizer are made and stepped where there is no compiled rule for its class:
by the class itself, in Python, on each worker.
"""

import contextlib
from collections.abc import Sequence
from typing import Any

import torch.distributed.rpc as rpc

from ...optim.correspondence import Group
from . import eager_optimizer, operators
from .references import stand_ins
from .remote import RemoteOptimizer


def _options(group: Group) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


class EagerParts:
    """Steps parts by the class itself, one Python call for each; see `CompiledParts`."""

    def __init__(self, kind: Any, groups: Sequence[Group], args: Any, kwargs: Any) -> None:
        self.kind, self.args, self.kwargs = kind, args, kwargs
        self.template = kind(stand_ins(groups), *args, **kwargs)
        self.defaults: dict[str, Any] = self.template.defaults

    def load(self, remote: RemoteOptimizer) -> Any:
        return operators.load_on(remote.worker)

    def create(self, remote: RemoteOptimizer, groups: Sequence[Group]) -> Any:
        members = [remote.members_of(group)[0] for group in range(len(groups))]
        mine = [(group, places) for group, places in zip(groups, members, strict=True) if places]
        return rpc.rpc_async(
            remote.worker,
            eager_optimizer.create,
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
            eager_optimizer.step,
            args=(remote.number, context_id, before, asked),
            timeout=remote.timeout,
        )

    def release(self, remotes: Sequence[RemoteOptimizer]) -> None:
        for remote in remotes:
            with contextlib.suppress(RuntimeError):
                rpc.rpc_async(remote.worker, eager_optimizer.release, args=(remote.number,))

    #: It may have any states.
    state_names = None
    counts_steps = False

    def _numbers(self, remote: RemoteOptimizer) -> list[int]:
        """The indices of a part's parameters, in its order."""
        last = max(group for group, _ in remote.members)
        return [number for group in range(last + 1) for number in remote.members_of(group)[1]]

    def states(self, remote: RemoteOptimizer) -> Any:
        return rpc.rpc_async(remote.worker, eager_optimizer.states, args=(remote.number,))

    def packed(self, remote: RemoteOptimizer, answer: Any) -> dict[int, dict[str, Any]]:
        numbers = self._numbers(remote)
        return {number: state for number, state in zip(numbers, answer, strict=True) if state}

    def load_states(self, remote: RemoteOptimizer, states: dict[int, dict[str, Any]]) -> Any:
        own = {
            place: states[number]
            for place, number in enumerate(self._numbers(remote))
            if number in states
        }
        return rpc.rpc_async(remote.worker, eager_optimizer.load_states, args=(remote.number, own))

    def accept(self, groups: Sequence[Group]) -> None:
        pass

    def require_settings(self, groups: Sequence[Group]) -> None:
        """Nothing is compiled."""
