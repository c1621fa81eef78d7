"""Runs the commands of a page's ```console blocks, one after the other, in the current folder.

usage: run-console-blocks.py PAGE.md

One shell runs them, so that `&`, `wait` and variables work. `python` is the interpreter that runs
this. Fails at the first command that does, and if the page has none. Ends what still runs in the
background.
"""

import os
import pathlib
import re
import subprocess
import sys

SHELL = r"""
trap 'kill $(jobs -p) 2> /dev/null' EXIT
for command; do
  printf '$ %s\n' "$command"
  eval "$command"
  code=$?
  if [ $code != 0 ]; then
    printf '`%s` ended with %s\n' "$command" $code >&2
    exit 1
  fi
done
"""


def commands(page):
    for block in re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                yield line[2:]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        found = list(commands(file.read()))
    if not found:
        sys.exit("no command found")
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    sys.exit(subprocess.run(["bash", "-c", SHELL, "bash", *found], check=False).returncode)


if __name__ == "__main__":
    main()
