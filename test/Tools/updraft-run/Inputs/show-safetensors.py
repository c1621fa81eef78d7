"""Prints the tensors of a safetensors file, one a line, by name: name, type, shape, elements; and
its metadata.

usage: show-safetensors.py FILE
"""

import struct
import sys

import safetensors_file

FORMATS = {
    "F32": ("f", 4),
    "F64": ("d", 8),
    "I64": ("q", 8),
    "F16": ("e", 2),
    "I8": ("b", 1),
    "U8": ("B", 1),
}


def decode(dtype, data):
    if dtype == "BF16":
        wide = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
        return decode("F32", wide)
    code, width = FORMATS[dtype]
    return struct.unpack(f"<{len(data) // width}{code}", data)


def main():
    tensors = safetensors_file.read(sys.argv[1])
    for key, text in tensors.pop(safetensors_file.METADATA, ({}, b""))[0].items():
        print("metadata", key, text)
    for name, (entry, data) in sorted(tensors.items()):
        values = decode(entry["dtype"], data)
        print(
            name,
            entry["dtype"],
            entry["shape"],
            *(f"{v:.6g}" if v != int(v) else f"{v:.1f}" for v in values),
        )


if __name__ == "__main__":
    main()
