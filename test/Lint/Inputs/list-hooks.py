"""Prints the ids of the hooks in a configuration of pre-commit.

usage: list-hooks.py CONFIGURATION
"""

import pathlib
import re
import sys

ID = re.compile(r"^ *- id: (\S+)$", re.MULTILINE)

if __name__ == "__main__":
    for name in sorted(ID.findall(pathlib.Path(sys.argv[1]).read_text())):
        print(name)
