"""Parameters without gradients that no compiled rule supports."""

import torch
from torch.nn.parameter import is_lazy

from ..torch_private import is_functorch_wrapped_tensor
from .assigned_states import States
from .correspondence import Group
from .devices import GradientScale
from .stand_ins import is_distributed, is_wrapper
from .state_storage import STORAGE


def is_idle(param: torch.Tensor) -> bool:
    """Whether a parameter has no gradient, and a compiled rule couldn't step it.

    Frozen weights may be integers. Others may be on another device or lack memory for some time.
    Tensors of inference mode can only be stepped in this mode.
    """
    if param.grad is not None or is_distributed(param) or is_wrapper(param):
        return False
    return (
        is_lazy(param)
        or param.dtype not in STORAGE
        or param.device.type not in ("cpu", "cuda")
        or param.layout != torch.strided
        or param.is_inference()
        or _lacks_memory(param)
    )


def _lacks_memory(param: torch.Tensor) -> bool:
    # A tensor of functorch doesn't have its own memory.
    if is_functorch_wrapped_tensor(param):
        return False
    return param.untyped_storage().data_ptr() == 0 and param.numel() > 0


class IdleBucket:
    """Idle parameters, in place of a `Bucket`."""

    def __init__(self, params: list[torch.Tensor], numbers: list[int]) -> None:
        self.params = params
        self.numbers = numbers

    reads_on_device = True
    calls_operators = False

    def accept(self, group: Group, factor: float | GradientScale | None) -> None:
        """Does nothing, because hyperparameters have no effect."""

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """Does nothing, because a step never changes anything."""

    def prepare(self, states: States) -> bool:
        """Returns False if a parameter has a gradient. Does nothing else."""
        return all(param.grad is None for param in self.params)

    def apply(self, states: States) -> None:
        """See `SteppedPart`."""

    def abandon(self) -> None:
        """See `SteppedPart`."""
