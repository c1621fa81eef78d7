"""Parameters that share memory, such as two parameters for tied weights."""

import bisect

import torch

from ..torch_private import get_unwrapped, is_functorch_wrapped_tensor, storage_number
from .stand_ins import is_wrapper
from .stepped_part import SteppedPart
from .through_torch import TorchBucket


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
    """The address of the first element, and the end address of the last one. For a subclass that
    wraps tensors, such as a DTensor, those of its first tensor. A storage without an address gets
    one after those of all memory.
    """
    tensor = param
    while hasattr(tensor, "__tensor_flatten__"):
        tensor = getattr(tensor, tensor.__tensor_flatten__()[0][0])
    while is_functorch_wrapped_tensor(tensor):
        tensor = get_unwrapped(tensor)
    if tensor.layout != torch.strided:
        return 0, 0
    storage = tensor.untyped_storage()
    address = 0 if is_wrapper(tensor) else storage.data_ptr()
    start = address or storage_number(storage) << 64
    extents = tensor.storage_offset(), *tensor.shape, *tensor.stride()
    if any(isinstance(extent, torch.SymInt) for extent in extents):
        # A comparison would bind a traced step to the sizes.
        return start, start + (1 << 63)
    if tensor.numel() == 0:
        return start, start
    start += int(tensor.storage_offset()) * tensor.itemsize
    places = zip(tensor.shape, tensor.stride(), strict=True)
    return start, start + (1 + sum((n - 1) * stride for n, stride in places)) * tensor.itemsize


def layers_apart(params: list[torch.Tensor]) -> list[list[int]]:
    """Splits the indices of parameters into layers without shared memory. If layers are stepped one
    after another, parameters that share memory are stepped in their order.

    If a tensor is listed twice, the result is one layer, because layers can't share its states.
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


def find_followers(parts: list[SteppedPart]) -> None:
    """Sets `follows` of each `TorchBucket`, given all parts in the order of `apply`."""
    layers = layers_apart([param for part in parts for param in part.params])
    first = set(layers[0])
    end = 0
    for part in parts:
        start, end = end, end + len(part.params)
        if isinstance(part, TorchBucket):
            part.follows = not first.issuperset(range(start, end))
