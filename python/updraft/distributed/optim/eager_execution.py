"""Steps of classes without a compiled rule: in Python, on each worker."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch.distributed.rpc as rpc

from ...optim.correspondence import Group
from . import eager_optimizer
from .eager_steppers import functional_options
from .interpreters import asked_for_python
from .outcomes import begun
from .references import stand_ins
from .remote import RemoteOptimizer


class _FunctionalTemplate:
    """Holds the parameter groups for functional optimizers, which have one group each."""

    def __init__(self, kind: Any, groups: Sequence[Group], args: Any, kwargs: Any) -> None:
        functionals = [kind(group["params"], *args, **kwargs) for group in groups]
        self.defaults: dict[str, Any] = dict(getattr(functionals[0], "defaults", {}))
        self.param_groups = [
            self.defaults | options | {"params": group["params"]}
            for options, group in zip(functional_options(functionals, groups), groups, strict=True)
        ]


class EagerExecution:
    """An `Execution` by Python calls, one for each worker.

    Args:
        kind: an optimizer class of torch, or a functional one.
        is_functional: whether it is a functional one.
    """

    #: Parameters may have any states.
    state_names = None
    counts_steps = False

    def __init__(
        self, kind: Any, groups: Sequence[Group], args: Any, kwargs: Any, is_functional: bool
    ) -> None:
        self._request = kind, args, kwargs
        self.is_functional = is_functional
        make = _FunctionalTemplate if is_functional else _optimizer
        self.template: Any = make(kind, stand_ins(groups, kwargs), args, kwargs)
        self.defaults: dict[str, Any] = self.template.defaults

    def create(
        self,
        remote: RemoteOptimizer,
        groups: Sequence[Group],
        replaced: RemoteOptimizer | None,
    ) -> Any:
        has_python = asked_for_python(remote.worker)
        try:
            has_python.wait()
        except Exception:
            return has_python
        kind, args, kwargs = self._request
        members = [remote.members_of(group) for group in range(len(groups))]
        request = eager_optimizer.EagerRequest(
            kind,
            self.is_functional,
            self._options(remote, groups),
            [[remote.rrefs[place] for place in places] for places, _ in members if places],
            [indices for _, indices in members if indices],
            args,
            kwargs,
            None if replaced is None else replaced.number,
        )
        return self._call(remote, eager_optimizer.create, request)

    def _call(
        self, remote: RemoteOptimizer, function: Any, *args: Any, timeout: float = -1.0
    ) -> Any:
        arguments = (remote.number, *args)
        return begun(rpc.rpc_async, remote.worker, function, args=arguments, timeout=timeout)

    def _options(self, remote: RemoteOptimizer, groups: Sequence[Group]) -> list[dict[str, Any]]:
        """The options of the groups with parameters on the worker."""
        return [
            {name: value for name, value in group.items() if name != "params"}
            for place, group in enumerate(groups)
            if remote.members_of(place)[0]
        ]

    def take(self, remotes: Sequence[RemoteOptimizer], answers: Sequence[Any]) -> None:
        pass

    def follows(self, groups: Sequence[Group]) -> bool:
        return True

    def made_for(self, groups: Sequence[Group]) -> None:
        pass

    def used_states(self, group: int) -> frozenset[str] | None:
        return None

    def step_arguments(
        self, remotes: Sequence[RemoteOptimizer], groups: Sequence[Group]
    ) -> list[Any]:
        return [self._options(remote, groups) for remote in remotes]

    def same_arguments(
        self, remotes: Sequence[RemoteOptimizer], groups: Sequence[Group]
    ) -> list[Any] | None:
        return None

    def step(self, remote: RemoteOptimizer, arguments: Any, context_id: int, before: int) -> Any:
        return self._call(
            remote, eager_optimizer.step, context_id, before, arguments, timeout=remote.timeout
        )

    def _indices(self, remote: RemoteOptimizer) -> list[int]:
        """The indices of a worker's parameters, in its order."""
        last = max(group for group, _ in remote.members)
        return [index for group in range(last + 1) for index in remote.members_of(group)[1]]

    def states(self, remote: RemoteOptimizer) -> Any:
        return self._call(remote, eager_optimizer.states)

    def packed(self, remote: RemoteOptimizer, answer: Any) -> dict[int, dict[str, Any]]:
        indices = self._indices(remote)
        return {index: state for index, state in zip(indices, answer, strict=True) if state}

    def unpacked(self, index: int, state: Mapping[str, Any]) -> dict[str, Any]:
        return dict(state)

    def load_states(self, remote: RemoteOptimizer, states: dict[int, dict[str, Any]]) -> Any:
        own = {
            place: states[index]
            for place, index in enumerate(self._indices(remote))
            if index in states
        }
        return self._call(remote, eager_optimizer.load_states, own)

    def release(self, remotes: Sequence[RemoteOptimizer]) -> None:
        for remote in remotes:
            self._call(remote, eager_optimizer.release)


def _optimizer(kind: Any, groups: Sequence[Group], args: Any, kwargs: Any) -> Any:
    return kind(groups, *args, **kwargs)
