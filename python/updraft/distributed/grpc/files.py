"""Files of named arrays, in the safetensors format."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .tensors import dtype_of

_CHUNK_BYTES = 1 << 20

_TYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I8": "int8",
    "U8": "uint8",
}
_NAMES = {dtype: name for name, dtype in _TYPES.items()}


def arrays_of_file(content: bytes) -> "tuple[dict[str, np.ndarray[Any, Any]], dict[str, str]]":
    """Returns copies of the arrays of a file that a worker has sent, by name, and its metadata."""
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    result = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        array = np.frombuffer(content[begin:end], dtype_of(_TYPES[entry["dtype"]]))
        result[name] = array.reshape(entry["shape"]).copy()
    return result, metadata


def file_of_arrays(
    arrays: "Mapping[str, np.ndarray[Any, Any]]", metadata: Mapping[str, str]
) -> Iterator[bytes]:
    """Yields the content of a file, in parts of at most 1 MiB."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    offset, parts = 0, []
    for name, array in arrays.items():
        part = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": array.shape,
            "data_offsets": [offset, offset + len(part)],
        }
        offset += len(part)
        parts.append(part)
    text = json.dumps(header).encode()
    for part in (len(text).to_bytes(8, "little") + text, *parts):
        for begin in range(0, len(part), _CHUNK_BYTES):
            yield part[begin : begin + _CHUNK_BYTES]
