"""Steps of two rules around a function of torch: what a rule cannot say, products of matrices."""

import abc
from collections.abc import Iterable
from typing import Any

import torch

from .buckets import Bucket, CompiledRules
from .compiled import CompiledStep
from .correspondence import Correspondence, Group
from .stand_ins import LocalBucket, StandIn, distributed_like, is_wrapper, local_part
from .states import OptimizerState
from .stepped_part import SteppedPart
from .through_torch import TorchBucket


class SplitStep(CompiledStep):
    """A step whose direction goes through a function of torch.

    The rule of `correspondence` has the direction in place of the parameter, and all the states.
    The rule of `update` has what the function makes of the direction in place of the gradient.
    Parameters of subclasses that intercept operators take both rules as operations of torch.
    """

    update: Correspondence

    @classmethod
    @abc.abstractmethod
    def _update_of(cls, param: torch.Tensor) -> Correspondence:
        """Returns `update` for a parameter, of which what is stepped may be a part."""

    @staticmethod
    @abc.abstractmethod
    def _between(direction: torch.Tensor, group: Group) -> torch.Tensor:
        """Returns the direction that the update takes; may use the memory of the given one."""

    def _correspondences(self) -> tuple[Correspondence, ...]:
        return (self.correspondence, self.update)

    def _make_buckets(
        self, group: Group, members: Iterable[tuple[int, torch.Tensor]], scaled: bool
    ) -> list[SteppedPart]:
        members = list(members)
        rules = CompiledRules()
        scratch: dict[torch.dtype, torch.Tensor] = {}
        for _, param in members:
            if is_wrapper(param):
                continue
            local = local_part(param)
            known = scratch.get(param.dtype)
            if known is None or known.numel() < local.numel():
                scratch[param.dtype] = torch.empty(
                    local.numel(), dtype=local.dtype, device=local.device
                )
        return [
            _TorchSplitBucket(self, param, number, group)
            if is_wrapper(param)
            else _SplitBucket(self, param, number, scratch[param.dtype], group, scaled, rules)
            for number, param in members
        ]


class _Given(LocalBucket):
    """A bucket of one parameter that steps another tensor for it."""

    def __init__(self, tensor: torch.Tensor, *arguments: Any) -> None:
        self.given = [tensor]
        super().__init__(*arguments)

    def _tensors(self, params: list[torch.Tensor]) -> list[torch.Tensor]:
        return self.given


class _SplitBucket:
    """One parameter. Its direction is in memory that all parameters of the group use in turn.

    Of a DTensor, the rules step this rank's part, and the function gets the whole direction.
    """

    def __init__(
        self,
        optimizer: SplitStep,
        param: torch.Tensor,
        number: int,
        scratch: torch.Tensor,
        group: Group,
        scaled: bool,
        rules: CompiledRules,
    ) -> None:
        self.params = [param]
        self.numbers = [number]
        self._between = optimizer._between
        self.target = StandIn(param, by_rows=False)
        like = self.target.tensor
        self.direction = scratch[: like.numel()].as_strided(like.shape, like.stride())

        def bucket(rule: Correspondence, scaled: bool, stepped: torch.Tensor) -> Bucket:
            return _Given(stepped, rule, [param], [number], group, optimizer.state, scaled, rules)

        self.before = bucket(optimizer.correspondence, scaled, self.direction)
        # It has no states, and the scale is gone by then.
        self.after = bucket(optimizer._update_of(param), False, like)

    def accept(self, group: Group, factor: float | None) -> None:
        """Like that of `Bucket`."""
        self.group = group
        self.before.accept(group, factor)
        self.after.accept(group, None)

    def _make(self) -> None:
        """Makes of the direction what the update takes."""
        param = self.target.param
        if self.target.distributed:
            whole = distributed_like(param, self.direction)
            made = self._between(whole, self.group)
            made = made.redistribute(placements=param.placements).to_local()
        else:
            made = self._between(self.direction, self.group)
        if made is not self.direction:
            self.direction.copy_(made)

    @torch.no_grad()
    def step(self, states: OptimizerState) -> bool:
        """Steps the parameter if it has a gradient; False if it has other memory than before."""
        target = self.target
        grad = target.gradient()
        if grad is None:
            return True
        if target.has_moved():
            return False
        try:
            self.direction.grad = grad
            if not self.before.step(states):
                return False
        finally:
            self.direction.grad = None
        self._make()
        target.load()
        try:
            target.tensor.grad = self.direction
            self.after.step(states)
        finally:
            target.tensor.grad = None
        target.store()
        return True


class _TorchSplitBucket:
    """A parameter of a subclass that intercepts operators, in place of a `_SplitBucket` of it."""

    def __init__(
        self, optimizer: SplitStep, param: torch.Tensor, number: int, group: Group
    ) -> None:
        self.params = [param]
        self.numbers = [number]
        self._between = optimizer._between
        # `.grad` of the parameter itself is not written.
        self.target = param.detach()
        self.direction = torch.zeros_like(self.target)

        def bucket(rule: Correspondence, stepped: torch.Tensor) -> TorchBucket:
            return TorchBucket(rule, [param], [number], group, False, [stepped])

        self.before = bucket(optimizer.correspondence, self.direction)
        self.after = bucket(optimizer._update_of(param), self.target)

    def accept(self, group: Group, factor: float | None) -> None:
        """Like that of `Bucket`."""
        self.group = group
        self.before.accept(group, factor)
        self.after.accept(group, None)

    @torch.no_grad()
    def step(self, states: OptimizerState) -> bool:
        """Steps the parameter if it has a gradient."""
        (param,) = self.params
        if param.grad is None:
            return True
        try:
            self.direction.grad = param.grad
            self.before.step(states)
            self.direction.grad = None
            self.direction.copy_(self._between(self.direction, self.group))
            self.target.grad = self.direction
            self.after.step(states)
        finally:
            self.direction.grad = self.target.grad = None
        torch.autograd.graph.increment_version(param)
        return True
