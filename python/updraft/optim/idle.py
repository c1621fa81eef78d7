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
    """Whether a parameter has no gradient and is of a kind that compiled rules don't support.

    Examples are frozen integer weights, parameters on other devices, parameters without memory for
    the time being, and tensors created in inference mode, which can be stepped only in that mode.
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

    def __init__(self, members: list[tuple[int, torch.Tensor]]) -> None:
        self.numbers = [number for number, _ in members]
        self.params = [param for _, param in members]

    rule = None
    reads_on_device = True
    calls_operators = False

    def accept(self, group: Group, factor: float | GradientScale | None) -> None:
        """Ignores the hyperparameters, because idle parameters are never stepped."""

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """Ignores `found_inf`, because idle parameters are never stepped."""

    def prepare(self, states: States) -> bool:
        """Returns False if a parameter has a gradient. There is nothing to prepare."""
        return all(param.grad is None for param in self.params)

    def apply(self, states: States) -> None:
        """See `SteppedPart`."""

    def abandon(self) -> None:
        """See `SteppedPart`."""
