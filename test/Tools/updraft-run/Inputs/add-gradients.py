"""Adds the gradients of one safetensors file to the tensors of another, as the next input of
updraft-run.

usage: add-gradients.py AFTER BEFORE RESULT
"""

import json
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    body = data[8 + length :]
    return {name: (entry, body[slice(*entry["data_offsets"])]) for name, entry in header.items()}


def main():
    tensors = read(sys.argv[1])
    before = read(sys.argv[2])
    tensors |= {name: tensor for name, tensor in before.items() if name.startswith("grad/")}
    header, body = {}, b""
    for name, (entry, data) in tensors.items():
        header[name] = entry | {"data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(sys.argv[3], "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


if __name__ == "__main__":
    main()
