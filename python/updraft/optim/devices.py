"""The devices of parameters, and the values that a step reads there."""

from collections.abc import Callable, Sequence
from math import ldexp
from typing import Any

import torch

#: Whether the emulator steps a parameter on the CPU as if it were on a GPU. For tests.
is_emulated: Callable[[torch.Tensor], bool] = lambda tensor: False  # noqa: E731


def target_of(param: torch.Tensor) -> str | None:
    """Returns the target to compile a parameter's rule for, as in `updraft.compile`."""
    if param.device.type == "cuda":
        return str(param.device)
    return "emulator" if is_emulated(param) else None


class GradientScale:
    """The scale of gradients, in a tensor of `torch.amp.GradScaler`.

    `float` returns the factor that removes the scale, and waits for the tensor's device.
    """

    def __init__(self, scale: torch.Tensor) -> None:
        self.tensor = scale

    def __float__(self) -> float:
        return 1 / float(self.tensor.item())


class DeviceReadings:
    """The values that a `GroupStepper` reads on its device, so that the CPU needn't wait."""

    def __init__(self, stepper: Any, device: torch.device, count: int) -> None:
        self.stepper = stepper
        self.device = device
        self.sources: list[torch.Tensor | None] = [None] * count
        self.scale: torch.Tensor | None = None
        self.found_inf: torch.Tensor | None = None

    def _here(self, value: Any) -> bool:
        return (
            isinstance(value, torch.Tensor)
            and value.device == self.device
            and value.numel() == 1
            and value.is_floating_point()
            and not value.is_neg()
        )

    def take(self, values: Sequence[Any], known: Sequence[float]) -> list[float]:
        """Makes steps read those values that are tensors on the device. Returns the others as
        numbers, and the number in `known` for each of these tensors.
        """
        numbers = []
        for index, value in enumerate(values):
            source = value.detach() if self._here(value) else None
            # Like `float`, but refuses text.
            numbers.append(ldexp(value, 0) if source is None else known[index])
            before = self.sources[index]
            same = source is not None and before is not None and _same_memory(source, before)
            if source is not before and not same:
                self.stepper.bind_hyper(index, source)
                self.sources[index] = source
        return numbers

    def brought(self, scale: GradientScale) -> torch.Tensor:
        """Returns the scale on the device. Copies it from another device, always to one tensor."""
        if scale.tensor.device == self.device:
            return scale.tensor
        if self.scale is None:
            self.scale = torch.empty((), device=self.device)
        return self.scale.copy_(scale.tensor.detach().view(()), non_blocking=True)

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """Makes later steps change nothing if `found_inf` isn't 0."""
        if found_inf is None and self.found_inf is None:
            return
        if found_inf is not None:
            found_inf = found_inf.detach().to(self.device, torch.float32)
        self.stepper.bind_found_inf(found_inf)
        self.found_inf = found_inf


def _same_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.data_ptr() == b.data_ptr() and a.dtype == b.dtype
