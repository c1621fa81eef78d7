"""Arrays in chunks."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...errors import InvalidArgumentError
from ...worker.v1 import worker_pb2 as messages

CHUNK_BYTES = 1 << 20

_TYPES = {
    "float32": messages.DTYPE_F32,
    "float64": messages.DTYPE_F64,
    "bfloat16": messages.DTYPE_BF16,
    "float16": messages.DTYPE_F16,
}
_NAMES = {number: name for name, number in _TYPES.items()}


class Rows(NamedTuple):
    """The gradient of some rows of a parameter.

    Attributes:
        indices: integers, into the first dimension of the parameter, in any order. They may repeat.
        values: an array of the shape [number of indices, remaining dimensions of the parameter].
    """

    indices: Any
    values: Any


def array_of(name: str, value: Any) -> "np.ndarray[Any, Any]":
    """Returns the values as an array in row-major order, copied only if they aren't.

    Takes arrays of numpy, and other arrays in the memory of the CPU through DLPack. Raises
    InvalidArgumentError for a type that workers don't take.
    """
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value.detach() if hasattr(value, "detach") else value)
    array = np.asarray(value)
    if array.dtype.name not in _TYPES:
        raise InvalidArgumentError(
            f"tensor `{name}` is {array.dtype.name}; workers take {', '.join(_TYPES)}"
        )
    return array if array.flags.c_contiguous else array.copy(order="C")


def chunks_of(name: str, array: "np.ndarray[Any, Any]") -> Iterator[messages.TensorChunk]:
    """Yields an array in row-major order as messages. The first has its name, type and shape."""
    info = messages.TensorInfo(name=name, dtype=_TYPES[array.dtype.name], shape=array.shape)
    data = array.reshape(-1).view(np.uint8).data
    yield messages.TensorChunk(tensor=info, data=bytes(data[:CHUNK_BYTES]))
    for begin in range(CHUNK_BYTES, len(data), CHUNK_BYTES):
        yield messages.TensorChunk(data=bytes(data[begin : begin + CHUNK_BYTES]))


def dtype_of(name: str) -> "np.dtype[Any]":
    """Returns a type by its name. bfloat16 needs ml_dtypes."""
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise InvalidArgumentError(
            "numpy has no bfloat16; install it with `pip install updraft[bfloat16]`"
        ) from None
    return np.dtype(ml_dtypes.bfloat16)


def arrays_from(
    chunks: Iterable[messages.TensorChunk],
) -> "tuple[dict[str, np.ndarray[Any, Any]], dict[str, int]]":
    """Puts arrays together from messages. Returns them and their versions, by name."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    versions: dict[str, int] = {}
    to, received = memoryview(b""), 0
    for chunk in chunks:
        if chunk.HasField("tensor"):
            array = np.empty(tuple(chunk.tensor.shape), dtype_of(_NAMES[chunk.tensor.dtype]))
            arrays[chunk.tensor.name] = array
            versions[chunk.tensor.name] = chunk.tensor.version
            to, received = array.reshape(-1).view(np.uint8).data, 0
        to[received : received + len(chunk.data)] = chunk.data
        received += len(chunk.data)
    return arrays, versions
