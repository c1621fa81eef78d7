"""Without space for copies of the standard library, only definitions in it can't be shown.

usage: full-disk.py SERVER
"""

import os
import pathlib
import sys

from client import Client, at, equal, uri_of

RULE = """\
rule Plain(lr = 1e-3) {
  update(param, grad) {
    next param = param - lr * square(grad)
  }
}

rule Clipped = clip_by_value(bound = 2) |> Plain
"""
# Limits the size of files to zero bytes.
FULL = 'trap "" XFSZ; ulimit -f 0; exec "$@"'


def main():
    (server,) = sys.argv[1:]
    uri = uri_of("tested.upd")
    with Client("sh", "-c", FULL, "sh", server) as client:
        equal(client.open(uri, RULE), [])
        equal(client.ask("definition", uri, at(RULE, "clip_by_value")), [])
        equal(client.ask("definition", uri, at(RULE, "square(")), [])
        (found,) = client.ask("definition", uri, at(RULE, "|> Plain", 4))
        equal(found["range"]["start"], at(RULE, "Plain(lr"))
        assert client.ask("hover", uri, at(RULE, "clip_by_value")) is not None
    cache = pathlib.Path(os.environ["XDG_CACHE_HOME"])
    equal([path for path in cache.rglob("*") if path.is_file()], [])
    print("all answered")


if __name__ == "__main__":
    main()
