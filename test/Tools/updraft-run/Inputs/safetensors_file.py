"""Safetensors files, with nothing but Python's library."""

import json
import struct

METADATA = "__metadata__"


def read(path):
    """Returns by name: the entry of the header, and the bytes of the tensor; for the metadata of a
    file that has some the text and no bytes.
    """
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    body = data[8 + length :]
    return {
        name: (entry, b"" if name == METADATA else body[slice(*entry["data_offsets"])])
        for name, entry in header.items()
    }


def write(path, tensors):
    """Writes what `read` returns; offsets are made anew."""
    header, body = {}, b""
    for name, (entry, data) in tensors.items():
        header[name] = entry
        if name != METADATA:
            header[name] = entry | {"data_offsets": [len(body), len(body) + len(data)]}
            body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)
