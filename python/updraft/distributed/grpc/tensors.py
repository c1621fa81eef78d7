"""Arrays in chunks."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ...arguments import require_text, require_unmasked
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
    InvalidArgumentError for a type that workers don't take, and TypeError for a masked array.
    """
    require_text(name, "name of a parameter")
    require_unmasked(value, f"tensor `{name}`")
    array = np.asarray(_imported(name, value))
    if array.dtype.name not in _TYPES:
        raise InvalidArgumentError(
            f"tensor `{name}` is {array.dtype.name}; workers take {', '.join(_TYPES)}"
        )
    # Messages have the little-endian order.
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)


def _imported(name: str, value: Any) -> Any:
    if isinstance(value, np.ndarray) or not hasattr(value, "__dlpack__"):
        return value
    is_bfloat16 = False
    torch = sys.modules.get("torch")
    if torch and isinstance(value, torch.Tensor):
        value = value.detach().resolve_neg()
        is_bfloat16 = value.dtype == torch.bfloat16 and value.device.type == "cpu"
        if is_bfloat16:  # which numpy doesn't import
            value = value.view(torch.int16)
    try:
        array = np.from_dlpack(value)
    except (BufferError, RuntimeError) as error:
        text = f"cannot read tensor `{name}`: {error}; give one in the memory of the CPU"
        raise InvalidArgumentError(text) from None
    return array.view(dtype_of("bfloat16")) if is_bfloat16 else array


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
