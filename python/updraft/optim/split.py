"""Steps of two rules around a function of torch: what a rule cannot say, products of matrices."""

import abc
from dataclasses import dataclass
from typing import Any

import torch

from .buckets import Bucket
from .compiled import CompiledStep
from .correspondence import Correspondence, Group
from .states import OptimizerState


class SplitStep(CompiledStep):
    """A step whose direction goes through a function of torch.

    The rule of `correspondence` has the direction in place of the parameter, and all the states.
    The rule of `update` has what the function makes of the direction in place of the gradient.
    """

    update: Correspondence

    @abc.abstractmethod
    def _between(self, direction: torch.Tensor, group: Group) -> torch.Tensor:
        """Returns the direction that the update takes; may use the memory of the given one."""

    def _correspondences(self) -> tuple[Correspondence, ...]:
        return (self.correspondence, self.update)

    def _make_buckets(self, group: Group, first: int, scaled: bool) -> list[Any]:
        scratch: dict[torch.dtype, torch.Tensor] = {}
        for param in group["params"]:
            known = scratch.get(param.dtype)
            if known is None or known.numel() < param.numel():
                scratch[param.dtype] = param.new_empty(param.numel()).detach()
        return [
            _SplitBucket(self, param, number, scratch[param.dtype], group, self.state, scaled)
            for number, param in enumerate(group["params"], first)
        ]


@dataclass(frozen=True)
class _Layout:
    memory: int
    shape: torch.Size
    strides: tuple[int, ...]


def _layout(tensor: torch.Tensor) -> _Layout:
    return _Layout(tensor.data_ptr(), tensor.shape, tensor.stride())


class _SplitBucket:
    """One parameter. Its direction is in memory that all parameters of the group use in turn."""

    def __init__(
        self,
        optimizer: SplitStep,
        param: torch.Tensor,
        number: int,
        scratch: torch.Tensor,
        group: Group,
        states: OptimizerState,
        scaled: bool,
    ) -> None:
        self.remade = lambda group, states: _SplitBucket(
            optimizer, param, number, scratch, group, states, scaled
        )
        self.optimizer = optimizer
        self.param = param
        self.known = _layout(param)
        self.direction = scratch[: param.numel()].as_strided(param.shape, param.stride())
        # The same memory with another gradient.
        self.target = param.data

        def bucket(rule: Correspondence, scaled: bool, stepped: torch.Tensor) -> Bucket:
            return Bucket(rule, param.dtype, [param], [number], group, states, scaled, [stepped])

        self.before = bucket(optimizer.correspondence, scaled, self.direction)
        # It has no states, and the scale is gone by then.
        self.after = bucket(optimizer.update, False, self.target)

    def step(self, group: Group, states: OptimizerState, inverse_scale: float | None) -> bool:
        """Steps the parameter if it has a gradient; False if it has other memory than before."""
        param = self.param
        if param.grad is None:
            return True
        if self.known != _layout(param):
            return False
        try:
            self.direction.grad = param.grad
            self.before.step(group, states, inverse_scale)
        finally:
            self.direction.grad = None
        made = self.optimizer._between(self.direction, group)
        if made is not self.direction:
            self.direction.copy_(made)
        try:
            self.target.grad = self.direction
            self.after.step(group, states, None)
        finally:
            self.target.grad = None
        torch.autograd.graph.increment_version(param)
        return True
