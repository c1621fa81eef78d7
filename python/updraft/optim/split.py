"""Steps of two rules around a function of torch: what a rule cannot say, products of matrices."""

import abc
from collections.abc import Iterable
from typing import Any

import torch

from ..errors import UnsupportedError
from .buckets import Bucket
from .compiled import CompiledStep
from .correspondence import Correspondence, Group
from .stand_ins import StandIn, is_distributed, is_wrapper
from .states import OptimizerState


class SplitStep(CompiledStep):
    """A step whose direction goes through a function of torch.

    The rule of `correspondence` has the direction in place of the parameter, and all the states.
    The rule of `update` has what the function makes of the direction in place of the gradient.
    """

    update: Correspondence

    @staticmethod
    @abc.abstractmethod
    def _between(direction: torch.Tensor, group: Group) -> torch.Tensor:
        """Returns the direction that the update takes; may use the memory of the given one."""

    def _correspondences(self) -> tuple[Correspondence, ...]:
        return (self.correspondence, self.update)

    def _make_buckets(
        self, group: Group, members: Iterable[tuple[int, torch.Tensor]], scaled: bool
    ) -> list[Any]:
        members = list(members)
        for _, param in members:
            if is_distributed(param) or is_wrapper(param):
                raise UnsupportedError(
                    f"`{type(self).__name__}` steps matrices that are whole in memory, and a "
                    f"parameter is a {type(param).__name__}; use the optimizer of torch for it"
                )
        scratch: dict[torch.dtype, torch.Tensor] = {}
        for _, param in members:
            known = scratch.get(param.dtype)
            if known is None or known.numel() < param.numel():
                scratch[param.dtype] = torch.empty(
                    param.numel(), dtype=param.dtype, device=param.device
                )
        return [
            _SplitBucket(self, param, number, scratch[param.dtype], group, scaled)
            for number, param in members
        ]


class _Given(Bucket):
    """A bucket of one parameter that steps another tensor for it."""

    def __init__(self, tensor: torch.Tensor, *arguments: Any) -> None:
        self.given = [tensor]
        super().__init__(*arguments)

    def _tensors(self, params: list[torch.Tensor]) -> list[torch.Tensor]:
        return self.given


class _SplitBucket:
    """One parameter. Its direction is in memory that all parameters of the group use in turn."""

    def __init__(
        self,
        optimizer: SplitStep,
        param: torch.Tensor,
        number: int,
        scratch: torch.Tensor,
        group: Group,
        scaled: bool,
    ) -> None:
        self.params = [param]
        self.numbers = [number]
        self._between = optimizer._between
        self.target = StandIn(param, by_rows=False)
        like = self.target.tensor
        self.direction = scratch[: param.numel()].as_strided(like.shape, like.stride())

        def bucket(rule: Correspondence, scaled: bool, stepped: torch.Tensor) -> Bucket:
            return _Given(stepped, rule, [param], [number], group, optimizer.state, scaled)

        self.before = bucket(optimizer.correspondence, scaled, self.direction)
        # It has no states, and the scale is gone by then.
        self.after = bucket(optimizer.update, False, like)

    def accept(self, group: Group, factor: float | None) -> None:
        """Like that of `Bucket`."""
        self.before.accept(group, factor)
        self.after.accept(group, None)

    @torch.no_grad()
    def step(self, group: Group, states: OptimizerState, factor: float | None) -> bool:
        """Steps the parameter if it has a gradient; False if it has other memory than before."""
        target = self.target
        grad = target.gradient()
        if grad is None:
            return True
        if target.has_moved():
            return False
        try:
            self.direction.grad = grad
            if not self.before.step(group, states, factor):
                return False
        finally:
            self.direction.grad = None
        made = self._between(self.direction, group)
        if made is not self.direction:
            self.direction.copy_(made)
        target.load()
        try:
            target.tensor.grad = self.direction
            self.after.step(group, states, None)
        finally:
            target.tensor.grad = None
        target.store()
        return True
