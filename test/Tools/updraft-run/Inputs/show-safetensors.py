"""Prints the tensors of a safetensors file, one a line, by name: name, type, shape, elements.

usage: show-safetensors.py FILE
"""

import json
import struct
import sys

FORMATS = {"F32": ("f", 4), "F64": ("d", 8), "I64": ("q", 8), "F16": ("e", 2), "I8": ("b", 1)}


def decode(dtype, data):
    if dtype == "BF16":
        wide = b"".join(b"\0\0" + data[i : i + 2] for i in range(0, len(data), 2))
        return decode("F32", wide)
    code, width = FORMATS[dtype]
    return struct.unpack(f"<{len(data) // width}{code}", data)


def main():
    with open(sys.argv[1], "rb") as file:
        bytes_ = file.read()
    (length,) = struct.unpack("<Q", bytes_[:8])
    header = json.loads(bytes_[8 : 8 + length])
    for name in sorted(header):
        if name == "__metadata__":
            continue
        begin, end = header[name]["data_offsets"]
        values = decode(header[name]["dtype"], bytes_[8 + length + begin : 8 + length + end])
        print(
            name,
            header[name]["dtype"],
            header[name]["shape"],
            *(f"{v:.6g}" if v != int(v) else f"{v:.1f}" for v in values),
        )


if __name__ == "__main__":
    main()
