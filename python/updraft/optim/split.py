"""Steps of two rules around a torch function for matrix products."""

import abc
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from ..errors import UnsupportedError
from .assigned_states import States
from .buckets import Bucket, CompiledRules
from .correspondence import Choices, Correspondence, Group
from .devices import GradientScale
from .listeners import Listening
from .matrix_views import MatrixView
from .stand_ins import LocalBucket, StandIn, distributed_like, local_part, needs_operators, of_dtype
from .state_storage import made_by_state_types
from .stepped_part import SteppedPart, step
from .through_torch import TorchBucket
from .torch_class import TorchClass


class SplitStep(TorchClass):
    """A step whose direction passes through a function of torch.

    The rule of `correspondence` writes the direction instead of the parameter, and has all states.
    The rule of `update` reads the function's result instead of the gradient. Both rules run as
    operations of torch for parameters of subclasses that intercept operators, and for all
    parameters while a mode of torch listens.

    With other numerics than "torch", the rule of `one_rule` is the step, including the function.
    """

    update: Correspondence | None
    one_rule: Correspondence

    @abc.abstractmethod
    def _update_of(self, shape: torch.Size) -> Correspondence:
        """Returns `update` for parameters of a shape; the stepped tensors may be parts of them."""

    @staticmethod
    @abc.abstractmethod
    def _between(direction: torch.Tensor, group: Group) -> torch.Tensor:
        """Returns the function's result for a direction; may use the direction's memory."""

    @staticmethod
    def _require(group: Group) -> None:
        """Refuses options of a group that `_between` would refuse."""

    def _correspond(self, choices: Choices) -> None:
        in_two = choices.numerics == "torch"
        self.update = type(self).update if in_two else None
        if self.update and choices.probes:
            raise UnsupportedError(
                'with numerics="torch", a step consists of two rules, which cannot have probes; '
                'give numerics="ieee" or "fast"'
            )
        super()._correspond(choices)
        if self.update and self.correspondence.bf16_storage:
            raise UnsupportedError(
                f"`storage` has `param` = {self.correspondence.bf16_storage}, but with "
                'numerics="torch", a step consists of two rules, which round parameters to the '
                'nearest; give numerics="ieee" or "fast"'
            )

    def _declared(self) -> Correspondence:
        return super()._declared() if self.update else self.one_rule

    def _correspondences(self, group: Group) -> tuple[Correspondence, ...]:
        return (self.correspondence, self.update) if self.update else (self.correspondence,)

    def _make_layer(
        self, group: Group, members: list[tuple[int, torch.Tensor]], scaled: bool
    ) -> list[SteppedPart]:
        if not self.update:
            self._require(group)
            return super()._make_layer(group, members, scaled)
        if MatrixView.of(group) is not None:
            raise UnsupportedError(
                'the numerics "torch" can\'t step a group with `matrix_blocks` or `matrix_layout`; '
                'give "ieee"'
            )
        whole = []
        buckets: list[SteppedPart] = []
        for number, param in members:
            if self._listening != Listening.NONE or needs_operators(param):

                def make_one(
                    correspondence: Correspondence, params: list[torch.Tensor], numbers: list[int]
                ) -> SteppedPart:
                    return _TorchSplitBucket(self, correspondence, params[0], numbers[0], group)

                buckets += made_by_state_types(self.correspondence, [param], [number], make_one)
            else:
                whole.append((number, param))
        batches = _batches(whole)
        sizes: dict[_Kind, int] = defaultdict(int)
        for batch in batches:
            size = sum(local_part(param).numel() for param in batch.params)
            sizes[batch.kind] = max(sizes[batch.kind], size)
        scratch = {
            (dtype, device): torch.empty(size, dtype=dtype, device=device)
            for (dtype, device), size in sizes.items()
        }
        rules = CompiledRules()
        for batch in batches:
            memory = scratch[batch.kind]

            def make(
                correspondence: Correspondence,
                params: list[torch.Tensor],
                numbers: list[int],
                kind: _Kind = batch.kind,
                memory: torch.Tensor = memory,
            ) -> SteppedPart:
                some = _Batch(kind, params, numbers)
                return _SplitBucket(self, correspondence, some, memory, group, scaled, rules)

            buckets += made_by_state_types(self.correspondence, batch.params, batch.numbers, make)
        return buckets


#: The most elements that are stepped together, so that their directions stay in a cache. A single
#: parameter may have more.
_BATCH = 1 << 18


_Kind = tuple[torch.dtype, torch.device]


@dataclass
class _Batch:
    """Parameters of the same kind and shape that are stepped together."""

    kind: _Kind
    params: list[torch.Tensor] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


def _batches(members: Iterable[tuple[int, torch.Tensor]]) -> list[_Batch]:
    """Groups parameters into batches, which are equal on all ranks that have parts of them."""
    batches: list[_Batch] = []
    last: dict[tuple[_Kind, torch.Size], _Batch] = {}
    for number, param in members:
        kind, shape = (param.dtype, param.device), param.shape
        batch = last.get((kind, shape))
        if batch is None or (len(batch.params) + 1) * param.numel() > _BATCH:
            batch = last[kind, shape] = _Batch(kind)
            batches.append(batch)
        batch.params.append(param)
        batch.numbers.append(number)
    return batches


def _laid_out_as(direction: torch.Tensor, grad: torch.Tensor | None) -> torch.Tensor:
    """Returns the direction in the layout of the gradient, as in torch. On some CPUs the bits of a
    matrix product depend on the layout.
    """
    if grad is None or grad.stride() == direction.stride():
        return direction
    return torch.empty_like(grad, dtype=direction.dtype).copy_(direction)


class _Given(LocalBucket):
    """A bucket that steps other tensors instead of its parameters."""

    def __init__(self, tensors: list[torch.Tensor], *arguments: Any) -> None:
        self.given = tensors
        super().__init__(*arguments)

    def _tensors(self, params: list[torch.Tensor]) -> list[torch.Tensor]:
        self._require_no_blocks(params)
        return self.given


class _Halves:
    """The two rules around the function, as one part of a step."""

    rule = None
    params: list[torch.Tensor]
    numbers: list[int]
    before: SteppedPart
    after: SteppedPart
    _require: Callable[[Group], None]

    @property
    def calls_operators(self) -> bool:
        """See `SteppedPart`."""
        return self.before.calls_operators

    @property
    def reads_on_device(self) -> bool:
        """See `SteppedPart`."""
        return self.before.reads_on_device

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """See `SteppedPart`."""
        self.before.skip_where(found_inf)
        self.after.skip_where(found_inf)

    def accept(self, group: Group, factor: float | GradientScale | None) -> None:
        """Like `Bucket.accept`."""
        self._require(group)
        self.group = group
        self.before.accept(group, factor)
        self.after.accept(group, None)


class _SplitBucket(_Halves):
    """A batch. All batches of the kind use the same memory for directions, in turn.

    For a DTensor, the rules step this rank's part, and the function gets the whole direction.
    """

    def __init__(
        self,
        optimizer: SplitStep,
        correspondence: Correspondence,
        batch: _Batch,
        scratch: torch.Tensor,
        group: Group,
        scaled: bool,
        rules: CompiledRules,
    ) -> None:
        self.params = params = batch.params
        self.numbers = batch.numbers
        self._between, self._require = optimizer._between, optimizer._require
        self.targets = [StandIn(param, in_order=False) for param in params]
        self.directions = []
        offset = 0
        for target in self.targets:
            like = target.tensor
            self.directions.append(scratch.as_strided(like.shape, like.stride(), offset))
            offset += like.numel()

        def bucket(rule: Correspondence, scaled: bool, stepped: list[torch.Tensor]) -> Bucket:
            states = optimizer._states
            return _Given(stepped, rule, params, self.numbers, group, states, scaled, rules)

        self.before = bucket(correspondence, scaled, self.directions)
        # The update has no states, and the gradient's scale is already removed.
        update = optimizer._update_of(params[0].shape)
        self.after = bucket(update, False, [target.tensor for target in self.targets])

    def _make(self, target: StandIn, direction: torch.Tensor) -> None:
        """Computes the input of the update from a direction."""
        param = target.param
        if target.distributed:
            whole = distributed_like(param, direction)
            made = self._between(whole, self.group)
            made = made.redistribute(placements=param.placements).to_local()
        else:
            made = self._between(_laid_out_as(direction, param.grad), self.group)
        if made is not direction:
            direction.copy_(made)

    @torch.no_grad()
    def prepare(self, states: States) -> bool:
        """See `SteppedPart`."""
        if any(target.has_moved() for target in self.targets):
            return False
        self.taken = []
        try:
            for target, direction in zip(self.targets, self.directions, strict=True):
                grad = target.gradient()
                if grad is not None:
                    target.require_writable()
                    self.taken.append((target, direction))
                    direction.grad = grad
            return self.before.prepare(states)
        finally:
            for _, direction in self.taken:
                direction.grad = None

    @torch.no_grad()
    def apply(self, states: States) -> None:
        """See `SteppedPart`."""
        taken = self.taken
        self.before.apply(states)
        try:
            for target, direction in taken:
                self._make(target, direction)
                target.load()
                target.tensor.grad = direction
            step(self.after, states)
        finally:
            for target, _ in taken:
                target.tensor.grad = None
        for target, _ in taken:
            target.store()

    def abandon(self) -> None:
        """See `SteppedPart`."""
        self.before.abandon()


class _TorchSplitBucket(_Halves):
    """A parameter whose rules both run as operations of torch."""

    before: TorchBucket
    after: TorchBucket

    def __init__(
        self,
        optimizer: SplitStep,
        correspondence: Correspondence,
        param: torch.Tensor,
        number: int,
        group: Group,
    ) -> None:
        self.params = [param]
        self.numbers = [number]
        self._between, self._require = optimizer._between, optimizer._require
        self.direction = torch.zeros_like(param.detach())

        def bucket(rule: Correspondence, stepped: torch.Tensor) -> TorchBucket:
            states = optimizer._states
            return TorchBucket(rule, [param], [number], group, states, False, [stepped])

        self.before = bucket(correspondence, self.direction)
        self.after = bucket(optimizer._update_of(param.shape), param)

    def prepare(self, states: States) -> bool:
        """See `SteppedPart`. Delays the computation, so that one direction exists at a time."""
        (param,) = self.params
        grad = param.grad
        if grad is not None:
            self.before.require_takes(grad)
            grad = of_dtype(grad, param.dtype)
        # torch refuses a gradient of another shape.
        self.direction.grad = grad
        return True

    def abandon(self) -> None:
        """See `SteppedPart`."""
        self.direction.grad = None

    @torch.no_grad()
    def apply(self, states: States) -> None:
        """See `SteppedPart`."""
        if self.direction.grad is None:
            return
        (param,) = self.params
        # The parameter's own `.grad` isn't written. `detach` would drop tangents.
        target = param.view_as(param)
        self.after.stepped = [target]
        try:
            step(self.before, states)
            self.direction.grad = None
            self.direction.copy_(self._between(self.direction, self.group))
            target.grad = self.direction
            step(self.after, states)
        finally:
            self.direction.grad = None
            self.after.stepped = self.params
        torch.autograd.graph.increment_version(self.params)
