"""Steps of optimizers whose rule is compiled."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ...errors import UnsupportedError
from ...optim.compiled import CompiledStep
from ...optim.compiled_group import is_constant
from ...optim.correspondence import Group
from ...optim.matrix_views import MatrixView
from ...optim.state_storage import FLOATS
from .hypers import HyperReaders
from .references import stand_ins
from .remote import RemoteOptimizer
from .request import request


class _KnownGroups:
    """A snapshot of parameter groups."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = [([*group], [*group.values()]) for group in groups]
        #: Whether values can only change by being replaced.
        self.are_constant = all(
            is_constant(value)
            for group in groups
            for name, value in group.items()
            if name != "params"
        )

    def are(self, groups: Sequence[Group]) -> bool:
        """Whether groups have the identical values. This is the usual case, and cheap to check."""
        if not self.are_constant:
            return False
        for (names, values), group in zip(self._groups, groups, strict=True):
            # Copied, because another thread may add to it.
            current = dict(group)
            if [*current] != names:
                return False
            for known, value in zip(values, current.values(), strict=True):
                if known is not value:
                    return False
        return True


def _as_tensor(index: int, name: str, value: Any) -> torch.Tensor:
    if isinstance(value, bool) or not isinstance(value, torch.Tensor | int | float):
        raise TypeError(
            f"the state `{name}` of parameter {index} is {type(value)}; give a tensor or a number"
        )
    if not isinstance(value, torch.Tensor):
        return torch.tensor(float(value))
    return value.detach().to_dense() if value.is_sparse else value.detach()


def _require_whole(groups: Sequence[Group]) -> None:
    """Refuses groups whose parameters are to be split into matrices.

    Raises:
        UnsupportedError: a group has `matrix_blocks` or `matrix_layout`.
    """
    if any(MatrixView.of(group) for group in groups):
        raise UnsupportedError(
            "a distributed optimizer can't split parameters into matrices; give groups without "
            "`matrix_blocks` and `matrix_layout`"
        )


def _require_supported(groups: Sequence[Group]) -> None:
    """Refuses groups with options that compiled steps on workers would ignore.

    Raises:
        UnsupportedError: a group has `matrix_blocks` or `matrix_layout`.
        ValueError: a group has `differentiable=True`.
    """
    _require_whole(groups)
    if any(group.get("differentiable") for group in groups):
        raise ValueError(
            "`DistributedOptimizer` does not support `differentiable`; use a local optimizer"
        )


def template_of(kind: Any, groups: Sequence[Group], args: Any, kwargs: Any) -> Any:
    """Returns a local optimizer, with one small parameter in each group.

    Args:
        kind: makes a compiled optimizer from parameters and options.
        groups: the parameter groups as given.

    Raises:
        UnsupportedError: parameters are to be split into matrices, or gradients to be clipped.
    """
    _require_whole(groups)
    template = kind(stand_ins(groups, kwargs), *args, **kwargs)
    if template.max_grad_norm is not None:
        raise UnsupportedError(
            f"{type(template).__name__} clips gradients by `max_grad_norm`, but no worker knows "
            "the norm of all gradients; give a chain with `clip_by_global_norm`, which clips each "
            "group by its own norm"
        )
    return template


class CompiledExecution:
    """An `Execution` by operators that don't need Python on the workers.

    Args:
        template: the result of `template_of`. It steps by one rule.
        count_versions: whether autograd is notified of steps.
    """

    is_functional = True

    def __init__(self, template: Any, count_versions: bool) -> None:
        _require_supported(template.param_groups)
        self.template: Any = template
        self._optimizer: CompiledStep = self.template
        # For the parameters on workers, whose dimensions may differ from those here.
        self._optimizer.correspondence = dataclasses.replace(
            self._optimizer.correspondence, tensors="all"
        )
        # The constructor may have compiled the rule for the stand-ins only.
        self._optimizer.release()
        self._count_versions = count_versions
        self._hypers = HyperReaders(self._optimizer.correspondence)
        #: The rules that the template uses for each group, now and when the workers' were made.
        self._rules = self._made_of = self._optimizer.accepted_rules()
        #: The groups that the workers' optimizers can step with.
        self._followed: _KnownGroups | None = None
        #: The groups of the last step, its optimizers, and their arguments.
        self._given: tuple[_KnownGroups, list[RemoteOptimizer], list[Any]] | None = None

    @property
    def defaults(self) -> dict[str, Any]:
        defaults: dict[str, Any] = vars(self.template)["defaults"]
        return defaults

    @property
    def state_names(self) -> tuple[str, ...] | None:
        correspondence = self._optimizer.correspondence
        if correspondence.states is None:
            return None
        # Includes states of unset flags, and scales and corrections.
        stored = (name for rule in self._rules for name in rule.stored_states)
        known = dict.fromkeys([*correspondence.states, *stored])
        names = correspondence.state_names(name for name in known if name != "step")
        if "step" not in names and correspondence.draws_numbers("bf16"):
            # Random numbers depend on it.
            names.insert(0, "step")
        return tuple(names)

    @property
    def counts_steps(self) -> bool:
        states = self._optimizer.correspondence.states
        return states is None or "step" in states

    def create(
        self,
        remote: RemoteOptimizer,
        groups: Sequence[Group],
        replaced: RemoteOptimizer | None,
    ) -> Any:
        members = [remote.members_of(group) for group in range(len(groups))]
        owners = [
            [*dict.fromkeys(rref.owner_name() for rref in group["params"])] for group in groups
        ]
        return remote.create(
            request(
                self._optimizer,
                self._hypers,
                members,
                groups,
                owners,
                self._count_versions,
                None if replaced is None else replaced.number,
            )
        )

    def take(self, remotes: Sequence[RemoteOptimizer], answers: Sequence[Any]) -> None:
        for remote, answer in zip(remotes, answers, strict=True):
            remote.set_buckets(answer)
        self._optimizer.correspondence.require_bf16(
            FLOATS[storage] for remote in remotes for _, storage in remote.buckets
        )

    def follows(self, groups: Sequence[Group]) -> bool:
        if self._followed is not None and self._followed.are(groups):
            return True
        # Stays None if an error is raised below.
        self._followed = None
        _require_supported(groups)
        # Like a local optimizer, compiles again if a flag has changed.
        for mine, group in zip(self._optimizer.param_groups, groups, strict=True):
            mine.update({name: value for name, value in group.items() if name != "params"})
        self._rules = self._optimizer.accepted_rules()
        if any(rule is not made for rule, made in zip(self._rules, self._made_of, strict=True)):
            return False
        self._followed = _KnownGroups(groups)
        return True

    def made_for(self, groups: Sequence[Group]) -> None:
        self.follows(groups)
        self._made_of = self._rules

    def used_states(self, group: int) -> frozenset[str] | None:
        stored = self._rules[group].stored_states
        return frozenset(["step", *self._optimizer.correspondence.state_names(stored)])

    def same_arguments(
        self, remotes: Sequence[RemoteOptimizer], groups: Sequence[Group]
    ) -> list[Any] | None:
        if self._given is None:
            return None
        known, known_remotes, given = self._given
        return given if known_remotes == remotes and known.are(groups) else None

    def step_arguments(
        self, remotes: Sequence[RemoteOptimizer], groups: Sequence[Group]
    ) -> list[Any]:
        if any(map(self._optimizer.correspondence.divides_by_zero, groups)):
            raise ZeroDivisionError("float division by zero")
        buckets = {bucket for remote in remotes for bucket in remote.buckets}
        values = {
            (group, storage): [*self._hypers.read(groups[group], storage).values()]
            for group, storage in buckets
        }
        given = [
            [value for bucket in remote.buckets for value in values[bucket]] for remote in remotes
        ]
        self._given = _KnownGroups(groups), [*remotes], given
        return given

    def step(self, remote: RemoteOptimizer, arguments: Any, context_id: int, before: int) -> Any:
        return remote.call("step", context_id, before, arguments, timeout=remote.timeout)

    def states(self, remote: RemoteOptimizer) -> Any:
        return remote.call("states")

    def packed(self, remote: RemoteOptimizer, answer: Any) -> dict[int, dict[str, Any]]:
        states: dict[int, dict[str, Any]] = {}
        for key, value in answer.items():
            index, _, name = key.partition("/")
            states.setdefault(int(index), {})[name] = value
        packed = {}
        names = self.state_names
        for index, state in states.items():
            # The operator expects the order of the names.
            order = names or sorted(state, key=lambda name: (name != "step", name))
            shown = {name: state[name] for name in order if name in state}
            if shown:
                packed[index] = self._optimizer.packed_state(shown)
        return packed

    def unpacked(self, index: int, state: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: _as_tensor(index, name, value)
            for name, value in state.items()
            if value is not None
        }

    def load_states(self, remote: RemoteOptimizer, states: dict[int, dict[str, Any]]) -> Any:
        flat = {
            f"{index}/{name}": value
            for index, state in states.items()
            for name, value in state.items()
        }
        return remote.call("load_states", flat, [*(self.state_names or ())])

    def release(self, remotes: Sequence[RemoteOptimizer]) -> None:
        for remote in remotes:
            remote.call("release")
