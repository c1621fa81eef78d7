"""`torch.optim.LBFGS`: the search is torch's, and a compiled sweep moves the parameters."""

from typing import Any

import torch

from ..definition import FileDefinition
from ..shipped import part_path
from ..torch_private import unflatten_dense_tensors
from .adapter import GroupStepper
from .documentation import Docstring
from .listeners import Listening, listening
from .shared_memory import layers_apart
from .state_storage import STORAGE

_MOVE = FileDefinition(part_path("move"), None, {})
_PLAIN = (torch.Tensor, torch.nn.Parameter)
# With fewer parameters, torch's operation per parameter isn't slower than one call.
_FEWEST = 8

_BEGINNING = """\
`torch.optim.LBFGS`, whose moves are compiled from `rules/parts/move.upd`.

Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", Mathematical
Programming 45, 1989. The search is torch's, and takes up to `max_iter` moves in a step, each along

  d = -H g

where H is the inverse Hessian that follows from the last `history_size` moves s and differences y
of gradients. It starts from (s . y) / (y . y) of the newest, and is updated from the oldest to the
newest:

  H' = (1 - r s y^T) H (1 - r y s^T) + r s s^T        r = 1 / (s . y)

The length t of a move is `lr`, but min(1, 1 / sum |g|) lr for the first move. With
`line_search_fn="strong_wolfe"`, a line search finds it."""
_RAISES = """\
ValueError: unless `lr >= 0`, and there is one parameter group.
RuntimeError: in a step, unless `line_search_fn` is None or "strong_wolfe"."""


class _Move:
    """Moves parameters of one dtype along a flat direction in one call."""

    def __init__(self, params: list[torch.Tensor]) -> None:
        self.params = params
        self.memory = [param.data_ptr() for param in params]
        # The same memory, with the direction as the gradient.
        self.targets = [
            torch.view_as_real(param.data) if param.is_complex() else param.data for param in params
        ]
        dtype = self.targets[0].dtype
        self.rule = _MOVE.compile(
            storage=dict.fromkeys(("param", "grad"), STORAGE[dtype]), numerics="torch"
        )
        self.stepper = GroupStepper(
            self.rule._compiled.address,
            self.targets,
            [0.0],
            *("", "", False, []),
            False,
            torch.float32,
        )

    @staticmethod
    def can(params: list[torch.Tensor], direction: torch.Tensor) -> bool:
        """Whether a sweep supports the parameters and is faster than torch."""
        return (
            len(params) >= _FEWEST
            and listening() == Listening.NONE
            and all(
                type(param) in _PLAIN
                and param.is_contiguous()
                and param.dtype.to_real() == direction.dtype
                and param.device.type == "cpu"
                for param in params
            )
            and len(layers_apart(params)) == 1
        )

    def stands(self, params: list[torch.Tensor]) -> bool:
        """Whether these are the same parameters with the same memory."""
        return len(params) == len(self.params) and all(
            param is mine and param.data_ptr() == memory and param.is_contiguous()
            for param, mine, memory in zip(params, self.params, self.memory, strict=True)
        )

    def along(self, direction: torch.Tensor, length: float) -> None:
        parts = unflatten_dense_tensors(direction, self.targets)
        try:
            for target, part in zip(self.targets, parts, strict=True):
                target.grad = part
            self.stepper.set_hypers([length])
            self.stepper.prepare()
            self.stepper.apply()
        finally:
            for target in self.targets:
                target.grad = None
        torch.autograd.graph.increment_version(self.params)


class LBFGS(torch.optim.LBFGS):
    __doc__ = Docstring(lambda: part_path("move"), _BEGINNING, _RAISES)  # type: ignore[assignment]

    _move: _Move | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]
        self._numel_cache = None

    def release(self) -> None:
        """Drops references to the parameters until the next step."""
        self._move = None

    def _add_grad(self, step_size: Any, update: torch.Tensor) -> None:
        move = self._move
        if move is None or not move.stands(self._params) or listening() != Listening.NONE:
            if not _Move.can(self._params, update):
                super()._add_grad(step_size, update)
                return
            move = self._move = _Move(list(self._params))
        move.along(update, float(step_size))
