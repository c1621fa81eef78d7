"""Writes a safetensors file for the tests of updraft-run.

usage: make-safetensors.py FILE [NAME:DTYPE:SHAPE:VALUE[,VALUE...] | KEY=TEXT ...]

SHAPE is like 2x3, or `scalar`; values are repeated to fill it. KEY=TEXT is metadata. Without
tensors: two parameters with gradients.
"""

import math
import struct
import sys

import safetensors_file

FORMATS = {"F32": "<f", "F64": "<d", "I64": "<q", "F16": "<e", "I8": "<b", "U8": "<B"}
DEFAULT = [
    "param/w:F32:3x5:1,2,3",
    "grad/w:F32:3x5:0.5,-0.25",
    "param/b:F32:7:0",
    "grad/b:F32:7:0.125",
]


def encode(dtype, value):
    if dtype == "BF16":  # exact for the few values used here
        return struct.pack("<f", float(value))[2:]
    number = int(value) if dtype[0] in "IU" else float(value)
    return struct.pack(FORMATS[dtype], number)


def main():
    tensors = {}
    for tensor in sys.argv[2:] or DEFAULT:
        if ":" not in tensor:
            key, text = tensor.split("=")
            tensors.setdefault(safetensors_file.METADATA, ({}, b""))[0][key] = text
            continue
        name, dtype, shape, values = tensor.split(":")
        sizes = [] if shape == "scalar" else [int(size) for size in shape.split("x")]
        values = values.split(",")
        data = b"".join(encode(dtype, values[i % len(values)]) for i in range(math.prod(sizes)))
        tensors[name] = ({"dtype": dtype, "shape": sizes}, data)
    safetensors_file.write(sys.argv[1], tensors)


if __name__ == "__main__":
    main()
