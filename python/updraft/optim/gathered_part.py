"""Parameters that are split over ranks, for rules that need whole matrices."""

from collections import deque
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import torch

from ..errors import InvalidArgumentError, UnsupportedError
from .assigned_states import States
from .buckets import Bucket, CompiledRules
from .correspondence import Correspondence, Group
from .devices import GradientScale
from .matrix_bucket import MatrixBucket
from .matrix_views import MatrixView, require_matrices
from .rule_interface import RuleInterface
from .stand_ins import (
    StandIn,
    WholeParametersError,
    distributed_like,
    is_distributed,
    local_part,
    of_dtype,
)
from .state_storage import made_by_state_types
from .states import Generation, OptimizerState, enter
from .stepped_part import SteppedPart, step


def _whole(tensor: Any) -> torch.Tensor:
    """Returns all elements of a DTensor. A collective of its ranks."""
    whole: torch.Tensor = tensor.full_tensor()
    # A replicated DTensor gives its own memory.
    return whole.clone() if whole.data_ptr() == local_part(tensor).data_ptr() else whole


def part_of(whole: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """Returns this rank's part of a tensor that all ranks have, for the placements of `like`."""
    everywhere = _replicated(whole, like)
    return local_part(everywhere.redistribute(placements=like.placements))  # type: ignore[attr-defined]


def _replicated(whole: torch.Tensor, like: torch.Tensor) -> Any:
    """Returns a DTensor on the ranks of `like`, with the same tensor on each."""
    from torch.distributed.tensor import DTensor, Replicate

    mesh = like.device_mesh  # type: ignore[attr-defined]
    return DTensor.from_local(whole, mesh, [Replicate()] * mesh.ndim, run_check=False)


class GatheredPart:
    """Steps DTensors whose rule needs whole parameters, such as products of matrices.

    Every rank gathers one parameter at a time with its gradient and states, takes the whole step,
    and keeps its own part. So the bits are those of one process, for any number of ranks and any
    placements, and between steps a rank has only its part of the states. States of elements are
    DTensors like the parameter. All other states are small, and every rank has them whole.
    """

    calls_operators = False
    reads_on_device = False

    def __init__(
        self,
        correspondence: Correspondence,
        params: list[torch.Tensor],
        numbers: list[int],
        group: Group,
        states: States,
        scaled: bool,
    ) -> None:
        self.params = params
        self.numbers = numbers
        self.group = group
        self.factor: float | GradientScale | None = None
        view = MatrixView.of(group)
        kind: Any = Bucket if view is None else partial(MatrixBucket, view)
        rules = CompiledRules()

        def bucket(whole: torch.Tensor, number: int, own: States) -> SteppedPart:
            given = self.group, own, scaled, rules
            (made,) = made_by_state_types(correspondence, [whole], [number], kind, *given)
            return made

        self._bucket = bucket
        require_matrices(group)
        #: Checks groups before a step.
        self._checked = bucket(
            torch.zeros(params[0].shape, dtype=params[0].dtype, device=params[0].device),
            numbers[0],
            OptimizerState.of(Generation(), {}),
        )
        assert self._checked.rule
        self.rule = self._checked.rule
        interface = RuleInterface(self.rule)
        if interface.by_group or len(self.rule.stored_states) > len(self.rule.states):
            raise WholeParametersError(self.rule.name, interface.by_group, params)
        if self.rule.probes:
            raise UnsupportedError(
                f"the rule `{self.rule.name}` needs whole parameters, and the step has no probes "
                "of DTensors that it gathers; leave `probes` out"
            )
        self._element_states = interface.element_states
        #: States that steps have created.
        self._fresh: deque[tuple[torch.Tensor, dict[str, Any]]] = deque()

    def accept(self, group: Group, factor: float | GradientScale | None) -> None:
        """See `SteppedPart`."""
        self.group, self.factor = group, factor
        self._checked.accept(group, factor)

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """See `SteppedPart`."""

    @torch.no_grad()
    def prepare(self, states: States) -> bool:
        """See `SteppedPart`."""
        self._taken = []
        for param, number in zip(self.params, self.numbers, strict=True):
            if param.grad is not None:
                self._require_states(number, param, states.of_param(param) or {})
                StandIn(param, in_order=False).require_writable()
                self._taken.append((param, number))
        return True

    def _require_states(self, number: int, param: torch.Tensor, state: Mapping[str, Any]) -> None:
        """Refuses states that a step can't take, before anything is stepped."""
        for name in self._element_states.intersection(state):
            value = state[name]
            if not is_distributed(value) or value.shape != param.shape:
                raise InvalidArgumentError(
                    f"the state `{name}` of parameter {number} is not a DTensor of shape "
                    f"{tuple(param.shape)}; load a `state_dict` of this optimizer"
                )

    @torch.no_grad()
    def apply(self, states: States) -> None:
        """See `SteppedPart`."""
        for param, number in self._taken:
            self._step(param, number, states)
        if self._fresh:
            states.expect(self)

    def abandon(self) -> None:
        """See `SteppedPart`."""
        self._taken = []

    def _step(self, param: torch.Tensor, number: int, states: States) -> None:
        state = states.of_param(param) or {}
        whole = _whole(param)
        assert param.grad is not None
        whole.grad = _whole(of_dtype(param.grad, param.dtype))
        gathered = {
            name: _whole(value) if is_distributed(value) else value for name, value in state.items()
        }
        own = OptimizerState.of(Generation(), {whole: gathered} if gathered else {})
        bucket = self._bucket(whole, number, own)
        bucket.accept(self.group, self.factor)
        step(bucket, own)
        local_part(param).copy_(part_of(whole, param))
        torch.autograd.graph.increment_version(param)
        made = {}
        for name, value in own.of_param(whole).items():
            kept = self._kept(name, value, param, state.get(name))
            if kept is not None:
                made[name] = kept
        if state:
            enter(state, made, states.generation)
        else:
            self._fresh.append((param, made))

    def _kept(self, name: str, value: torch.Tensor, param: torch.Tensor, old: Any) -> Any:
        """Returns the state to store; None if the old one was updated in place."""
        if name == "step" or value.dim() == 0:
            return None if value is old else value
        is_element = name in self._element_states
        part = part_of(value, param) if is_element else value
        if old is not None and is_distributed(old) and local_part(old).shape == part.shape:
            local_part(old).copy_(part)
            return None
        if is_element:
            return distributed_like(param, part.clone())
        return _replicated(value, param)

    def take_states(self) -> Iterator[tuple[torch.Tensor, dict[str, Any]]]:
        """See `StateSource`."""
        while self._fresh:
            yield self._fresh[0]
            self._fresh.popleft()
