"""Computes the norm of all gradients of an optimizer in one compiled sweep, and clips by it."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch

from ..definition import FileDefinition
from ..errors import InvalidArgumentError
from ..shipped import part_path
from .buckets import Bucket
from .correspondence import Correspondence
from .devices import target_of
from .idle import is_idle
from .rule_interface import RuleInterface
from .shared_memory import layers_apart
from .stand_ins import StandInBucket, is_distributed, need_stand_ins, needs_operators
from .states import Generation, OptimizerState
from .stepped_part import step

_NORM = Correspondence(
    rule=FileDefinition(part_path("grad_norm"), None, {}),
    hypers={},
    settings={},
    states=("norm",),
    sparse="clipping by the norm does not support sparse gradients",
)

#: A mesh that parameters are spread over, and the dimensions that split them; None if unsplit.
Spread = tuple[Any, tuple[int, ...]] | None

#: The parameters of one sweep share these: spread, dtype and device.
_Kind = tuple[Spread, torch.dtype, torch.device, str | None]


def _spread(param: torch.Tensor) -> Spread:
    if not is_distributed(param):
        return None
    placements = param.placements  # type: ignore[attr-defined]
    split = tuple(i for i, placement in enumerate(placements) if not placement.is_replicate())
    return (param.device_mesh, split) if split else None  # type: ignore[attr-defined]


class _NormOfParts(StandInBucket):
    """The norm of gradients of parameters, over the parts that this process has."""

    writes = False

    def _require_whole(self, interface: RuleInterface, params: list[torch.Tensor]) -> None:
        pass


class _BucketNorm:
    """The norm of gradients with one dtype, on one device."""

    def __init__(self, kind: type[Bucket], params: list[torch.Tensor]) -> None:
        self.states = OptimizerState.of(Generation(), {})
        self.bucket = kind(_NORM, params, [*range(len(params))], {}, self.states, False)
        self.norm: torch.Tensor | None = None

    def square(self) -> float | None:
        """The squared norm, or None if the memory of a parameter has changed."""
        if self.norm is not None:
            self.norm.zero_()  # the result if there are no gradients
        if not step(self.bucket, self.states):
            return None
        if self.norm is None:
            self.norm = next((state["norm"] for state in self.states.values()), None)
        return 0.0 if self.norm is None else self.norm.item() ** 2


class GradientNorm:
    """The norm of the gradients of some parameters.

    Args:
        params: the parameters.
        listened: whether listeners of torch's operators must see it.
    """

    def __init__(self, params: Iterable[torch.Tensor], listened: bool = False) -> None:
        compiled: dict[_Kind, list[torch.Tensor]] = defaultdict(list)
        #: Parameters whose norms are computed by operators of torch.
        self.others: list[torch.Tensor] = []
        self.idle: list[torch.Tensor] = []
        for param in params:
            if is_idle(param):
                self.idle.append(param)
            elif listened or needs_operators(param):
                self.others.append(param)
            else:
                compiled[_spread(param), param.dtype, param.device, target_of(param)].append(param)
        self.parts = [
            (
                spread,
                _BucketNorm(
                    _NormOfParts if need_stand_ins(members) else Bucket,
                    [members[i] for i in layer],
                ),
            )
            for (spread, *_), members in compiled.items()
            for layer in layers_apart(members)
        ]

    def add_squares(self, totals: dict[Spread, float]) -> bool:
        """Adds squared norms of this process's parts; False if a parameter has changed."""
        if any(param.grad is not None for param in self.idle):
            return False
        for spread, part in self.parts:
            square = part.square()
            if square is None:
                return False
            totals[spread] += square
        for param in self.others:
            if param.grad is not None:
                totals[None] += torch.linalg.vector_norm(param.grad.detach()).item() ** 2
        return True


def total_norm(totals: dict[Spread, float]) -> float:
    """The norm of all gradients, over all processes, with one reduction per mesh."""
    whole = 0.0
    for spread, square in totals.items():
        if spread is not None:
            mesh, split = spread
            shared = torch.tensor(square, dtype=torch.float64)
            for dimension in split:
                torch.distributed.all_reduce(shared, group=mesh.get_group(dimension))
            square = shared.item()
        whole += square
    return whole**0.5


def require_max_norm(max_norm: float) -> None:
    """Refuses values that gradients can't be clipped to."""
    if not hasattr(max_norm, "__float__"):
        raise TypeError(f"expected a number for `max_norm`, got {max_norm!r}")
    if not max_norm >= 0:
        raise InvalidArgumentError(f"Invalid max_norm: {max_norm}")


def coefficient(norm: float, max_norm: float) -> float:
    """The factor for gradients, as in `torch.nn.utils.clip_grad_norm_`."""
    clipped = max_norm / (norm + 1e-6)
    return 1.0 if clipped > 1.0 else clipped
