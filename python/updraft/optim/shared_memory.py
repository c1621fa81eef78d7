"""Parameters that share memory, such as two parameters for tied weights."""

import bisect

import torch


class _Layer:
    """Numbers of parameters that share no memory, and the sorted ranges of their memory."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.ranges: list[tuple[int, int]] = []

    def has_any(self, start: int, end: int) -> bool:
        """Whether one of them has memory in the range."""
        place = bisect.bisect_left(self.ranges, (start, end))
        near = self.ranges[max(place - 1, 0) : place + 1]
        return any(start < other[1] and other[0] < end for other in near)

    def add(self, number: int, start: int, end: int) -> None:
        self.numbers.append(number)
        if start < end:
            bisect.insort(self.ranges, (start, end))


def _range(param: torch.Tensor) -> tuple[int, int]:
    """The address of its first element, and the address behind its last one."""
    start = param.data_ptr()
    if param.numel() == 0:
        return start, start
    places = zip(param.shape, param.stride(), strict=True)
    return start, start + (1 + sum((n - 1) * stride for n, stride in places)) * param.itemsize


def layers_apart(params: list[torch.Tensor]) -> list[list[int]]:
    """Returns the numbers of parameters in layers without shared memory. If layers are stepped one
    after the other, parameters that share memory are stepped in their order.

    A tensor that is there twice has one set of states, which layers cannot share. Then the result
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
