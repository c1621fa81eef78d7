"""Runs the commands of a page's ```console blocks, one after the other, in the current folder.

usage: run-console-blocks.py PAGE.md

`python` is the interpreter that runs this. Fails at the first command that does, and if the page
has none.
"""

import os
import pathlib
import re
import subprocess
import sys


def commands(page):
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                yield line[2:]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = list(commands(file.read()))
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    for command in found:
        print("$", command, flush=True)
        code = subprocess.run(command, shell=True, check=False).returncode
        if code != 0:
            sys.exit(f"`{command}` ended with {code}")
    if not found:
        sys.exit("no command found")


if __name__ == "__main__":
    main()
