"""Changes the source in a package, and makes its digests right again (package_format.h)."""

import hashlib
import pathlib
import struct
import sys

data = bytearray(pathlib.Path(sys.argv[1]).read_bytes())
HEADER, RECORD = 56, 64
count = struct.unpack_from("<I", data, 12)[0]
for place in range(HEADER, HEADER + count * RECORD, RECORD):
    kind, _, offset, size = struct.unpack_from("<IIQQ", data, place)
    if kind == 1:  # a source
        data[offset] ^= 1
        data[place + 32 : place + RECORD] = hashlib.sha256(data[offset : offset + size]).digest()
data[24:HEADER] = bytes(32)
data[24:HEADER] = hashlib.sha256(data[: HEADER + count * RECORD]).digest()
pathlib.Path(sys.argv[2]).write_bytes(data)
