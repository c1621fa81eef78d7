"""The choice of the parts that step a parameter group."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial

import torch

from ..caller_warnings import warn_caller
from ..errors import UnsupportedError
from ..torch_private import require_fusible
from .assigned_states import States
from .buckets import Bucket
from .correspondence import Correspondence, Group
from .devices import target_of
from .gathered_part import GatheredPart
from .idle import IdleBucket, is_idle
from .listeners import Listening
from .matrix_bucket import MatrixBucket
from .matrix_views import MatrixView
from .rule_interface import RuleInterface
from .shared_memory import layers_apart
from .stand_ins import (
    StandInBucket,
    WholeParametersError,
    is_distributed,
    need_stand_ins,
    needs_operators,
    require_mutable,
)
from .state_storage import made_by_state_types
from .stepped_part import SteppedPart
from .through_torch import TorchBucket

#: The parameters of a bucket share these: dtype, device and target.
_Kind = tuple[torch.dtype, torch.device, str | None]

#: Parameters with their numbers in the optimizer.
_Members = list[tuple[int, torch.Tensor]]


def steps_by_group(buckets: list[SteppedPart]) -> bool:
    """Whether a rule depends on the whole group."""
    return any(RuleInterface(bucket.rule).by_group for bucket in buckets if bucket.rule)


class PartChoice:
    """Chooses what steps each parameter of an optimizer: compiled code or operators of torch."""

    correspondence: Correspondence
    #: The states in the form that a step uses.
    _states: States
    #: The kind of listener when the groups were compiled.
    _listening: Listening

    def _correspondence_of(self, group: Group) -> Correspondence:
        """The correspondence of the rule that steps a group and has its states."""
        return self.correspondence

    def _correspondences(self, group: Group) -> tuple[Correspondence, ...]:
        """The correspondences of all rules that a step applies to a group."""
        return (self._correspondence_of(group),)

    def _make_buckets(
        self, group: Group, members: Iterable[tuple[int, torch.Tensor]], scaled: bool
    ) -> list[SteppedPart]:
        """Returns the parts that step some parameters of a group.

        `members` are pairs of a parameter's number in the optimizer and the parameter.
        """
        idle: _Members = []
        stepped: _Members = []
        for number, param in members:
            (idle if is_idle(param) else stepped).append((number, param))
        self._require_fused(group, stepped)
        buckets: list[SteppedPart] = [IdleBucket(idle)] if idle else []
        layers = layers_apart([param for _, param in stepped])
        made = [
            bucket
            for layer in layers
            for bucket in self._make_layer(group, [stepped[i] for i in layer], scaled)
        ]
        if len(layers) > 1 and steps_by_group(made):
            made = self._make_layer(group, stepped, scaled)
        return buckets + made

    def _make_layer(self, group: Group, members: _Members, scaled: bool) -> list[SteppedPart]:
        """Like `_make_buckets`, for parameters that aren't idle and share no memory. If the rule
        depends on the whole group, they may share memory, and the runtime refuses them.
        """
        in_graph = bool(group.get("differentiable"))
        listened = self._listening != Listening.NONE
        compiled: dict[_Kind, _Members] = defaultdict(list)
        through_torch: dict[_Kind, _Members] = defaultdict(list)
        for number, param in members:
            by_operators = in_graph or listened or needs_operators(param)
            kind = param.dtype, param.device, target_of(param)
            (through_torch if by_operators else compiled)[kind].append((number, param))
        buckets: list[SteppedPart] = []
        refusals: dict[_Kind, WholeParametersError] = {}
        for kind, some in compiled.items():
            try:
                buckets += self._make_compiled(group, some, scaled)
            except WholeParametersError as refusal:
                # Reductions by operators of torch cover all ranks of a DTensor.
                refusals[kind] = refusal
                rest: _Members = []
                for member, is_apart in zip(some, refusal.apart, strict=True):
                    (through_torch[kind] if is_apart else rest).append(member)
                buckets += self._make_compiled(group, rest, scaled)
        for kind, some in through_torch.items():
            try:
                buckets += self._made_of(TorchBucket, group, some, in_graph)
            except UnsupportedError as refusal:
                # The rule can't run as operations of torch.
                if kind in refusals and all(is_distributed(param) for _, param in some):
                    buckets += self._made_of(GatheredPart, group, some, scaled)
                    continue
                if kind in refusals:
                    raise refusals[kind] from None
                if in_graph or not listened or any(needs_operators(param) for _, param in some):
                    raise
                self._require_unseen(refusal)
                buckets += self._make_compiled(group, some, scaled)
        return buckets

    def _require_fused(self, group: Group, members: Iterable[tuple[int, torch.Tensor]]) -> None:
        """Refuses the parameters that torch's fused steps refuse, with the same error."""
        if not group.get("fused") or "fused" in self._correspondence_of(group).settings:
            return
        for _, param in members:
            if param.grad is not None:
                require_fusible(param)

    def _require_unseen(self, refusal: UnsupportedError) -> None:
        """Refuses a compiled step if operators are traced or transformed, because torch doesn't see
        it. If a mode is active, warns that the mode doesn't see the step.
        """
        if self._listening == Listening.TRANSFORMS:
            raise UnsupportedError(
                f"{refusal}, so the step cannot be traced or transformed; call `step` outside"
            ) from None
        warn_caller(f"{refusal}, so the active mode does not see the step")

    def _make_compiled(self, group: Group, members: _Members, scaled: bool) -> list[SteppedPart]:
        for _, param in members:
            if param.grad is not None:
                require_mutable(param)
        kind = StandInBucket if need_stand_ins(param for _, param in members) else Bucket
        return self._made_of(kind, group, members, scaled) if members else []

    def _made_of(
        self, kind: Callable[..., SteppedPart], group: Group, members: _Members, choice: bool
    ) -> list[SteppedPart]:
        """Returns buckets of a kind, whose constructors take `choice` last."""
        numbers, params = map(list, zip(*members, strict=True))
        arguments = group, self._states, choice
        view = MatrixView.of(group)
        if view is not None and kind is TorchBucket:
            raise UnsupportedError(
                "operators of torch can't step a group with `matrix_blocks` or `matrix_layout`"
            )
        if view is not None and kind is not GatheredPart:
            kind = partial(MatrixBucket, view)
        correspondence = self._correspondence_of(group)
        return made_by_state_types(correspondence, params, numbers, kind, *arguments)
