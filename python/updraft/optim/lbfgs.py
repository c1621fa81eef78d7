"""`torch.optim.LBFGS`: its search is torch's, and moves the parameters by a compiled pass."""

from typing import Any

import torch

from ..definition import FileDefinition
from ..shipped import part_path
from .adapter import GroupStepper
from .buckets import STORAGE

_MOVE = FileDefinition(part_path("move"), None, {})
_PLAIN = (torch.Tensor, torch.nn.Parameter)
# Torch's operation for each parameter costs as much as the one call for fewer.
_FEWEST = 8


class _Move:
    """Moves parameters of one dtype along a flat direction, all of them in one call."""

    def __init__(self, params: list[torch.Tensor]) -> None:
        self.params = params
        self.memory = [param.data_ptr() for param in params]
        # The same memory, with the direction for a gradient.
        self.targets = [
            torch.view_as_real(param.data) if param.is_complex() else param.data for param in params
        ]
        dtype = self.targets[0].dtype
        self.rule = _MOVE.compile(
            storage=dict.fromkeys(("param", "grad"), STORAGE[dtype]), numerics="torch"
        )
        self.stepper = GroupStepper(self.rule._compiled.address, self.targets, [0.0], "", "", False)

    @staticmethod
    def can(params: list[torch.Tensor], direction: torch.Tensor) -> bool:
        """Whether there is such a pass for the parameters, and it pays."""
        return len(params) >= _FEWEST and all(
            type(param) in _PLAIN
            and param.is_contiguous()
            and param.dtype.to_real() == direction.dtype
            and param.device.type == "cpu"
            for param in params
        )

    def stands(self, params: list[torch.Tensor]) -> bool:
        """Whether these are the parameters, in the memory that they had."""
        return len(params) == len(self.params) and all(
            param is mine and param.data_ptr() == memory and param.is_contiguous()
            for param, mine, memory in zip(params, self.params, self.memory, strict=True)
        )

    def along(self, direction: torch.Tensor, length: float) -> None:
        parts = torch._C._nn.unflatten_dense_tensors(direction, self.targets)
        try:
            for target, part in zip(self.targets, parts, strict=True):
                target.grad = part
            self.stepper.set_hypers([length])
            self.stepper.step()
        finally:
            for target in self.targets:
                target.grad = None
        torch.autograd.graph.increment_version(self.params)


class LBFGS(torch.optim.LBFGS):
    """`torch.optim.LBFGS`, whose moves are compiled from `rules/parts/move.upd`.

    Arguments are those of torch's class.

    >>> weights = torch.nn.Parameter(torch.tensor([3.0, -2.0]))
    >>> optimizer = LBFGS([weights], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (weights**2).sum()
    ...     loss.backward()
    ...     return loss
    >>> before = optimizer.step(closure).item()
    >>> before, round(closure().item(), 6)
    (13.0, 0.0)
    """

    _move: _Move | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]
        self._numel_cache = None

    def release(self) -> None:
        """Drops what is held of the parameters, until the next step."""
        self._move = None

    def _add_grad(self, step_size: Any, update: torch.Tensor) -> None:
        move = self._move
        if move is None or not move.stands(self._params):
            if not _Move.can(self._params, update):
                super()._add_grad(step_size, update)
                return
            move = self._move = _Move(list(self._params))
        move.along(update, float(step_size))
