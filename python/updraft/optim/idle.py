"""Parameters that cannot be stepped, and have no gradient to step by."""

import torch
from torch.nn.parameter import is_lazy

from ..torch_private import is_functorch_wrapped_tensor
from .assigned_states import States
from .correspondence import Group
from .devices import GradientScale
from .stand_ins import is_distributed, is_wrapper
from .state_storage import STORAGE


def is_idle(param: torch.Tensor) -> bool:
    """Whether a parameter has no gradient, and could not be stepped if it had one.

    Frozen weights may be integers; others are on another device or without memory for a while.
    """
    if param.grad is not None or is_distributed(param) or is_wrapper(param):
        return False
    return (
        is_lazy(param)
        or param.dtype not in STORAGE
        or param.device.type not in ("cpu", "cuda")
        or param.layout != torch.strided
        or _lacks_memory(param)
    )


def _lacks_memory(param: torch.Tensor) -> bool:
    # A tensor of functorch has the memory of another one.
    if is_functorch_wrapped_tensor(param):
        return False
    return param.untyped_storage().data_ptr() == 0 and param.numel() > 0


class IdleBucket:
    """Such parameters, in place of a `Bucket`."""

    def __init__(self, params: list[torch.Tensor], numbers: list[int]) -> None:
        self.params = params
        self.numbers = numbers

    reads_on_device = True
    calls_operators = False

    def accept(self, group: Group, factor: float | GradientScale | None) -> None:
        """Has no use for hyperparameters."""

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """Never steps."""

    def prepare(self, states: States) -> bool:
        """Does nothing; False if a parameter has a gradient."""
        return all(param.grad is None for param in self.params)

    def apply(self, states: States) -> None:
        """See `SteppedPart`."""

    def abandon(self) -> None:
        """See `SteppedPart`."""
