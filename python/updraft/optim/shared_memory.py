"""Parameters that share memory, such as two parameters for tied weights."""

import bisect

import torch

from .stand_ins import local_part


class _Layer:
    """Indices of parameters that share no memory, and the sorted ranges of their memory."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.ranges: list[tuple[int, int]] = []

    def has_any(self, start: int, end: int) -> bool:
        """Whether a parameter in the layer has memory in the range."""
        place = bisect.bisect_left(self.ranges, (start, end))
        near = self.ranges[max(place - 1, 0) : place + 1]
        return any(start < other[1] and other[0] < end for other in near)

    def add(self, number: int, start: int, end: int) -> None:
        self.numbers.append(number)
        if start < end:
            bisect.insort(self.ranges, (start, end))


def _range(param: torch.Tensor) -> tuple[int, int]:
    """The address of the first element, and the end address of the last one. For a DTensor, those
    of its local tensor.
    """
    tensor = local_part(param)
    start = tensor.data_ptr()
    if tensor.numel() == 0:
        return start, start
    places = zip(tensor.shape, tensor.stride(), strict=True)
    return start, start + (1 + sum((n - 1) * stride for n, stride in places)) * tensor.itemsize


def is_overlap(error: ValueError) -> bool:
    """Whether the runtime refused parameters of one bucket because they share memory."""
    return str(error).endswith(" overlap in memory; give each tensor once")


def layers_apart(params: list[torch.Tensor]) -> list[list[int]]:
    """Splits the indices of parameters into layers without shared memory. If layers are stepped one
    after another, parameters that share memory are stepped in their order.

    A tensor that is listed twice has one set of states, which layers can't share. Then the result
    is one layer.
    """
    if len({id(param) for param in params}) < len(params):
        return [[*range(len(params))]]
    layers: list[_Layer] = []
    for number, param in enumerate(params):
        start, end = _range(param)
        depth = len(layers)
        while depth and not layers[depth - 1].has_any(start, end):
            depth -= 1
        if depth == len(layers):
            layers.append(_Layer())
        layers[depth].add(number, start, end)
    return [layer.numbers for layer in layers]
