"""Runs the formatter with --check on every rule file below a folder.

usage: check-rules.py FORMATTER FOLDER
"""

import pathlib
import subprocess
import sys


def main():
    formatter, folder = sys.argv[1:]
    files = sorted(map(str, pathlib.Path(folder).rglob("*.upd")))
    subprocess.run([formatter, "--check", *files], check=True)
    print(f"{len(files)} rules are formatted")


if __name__ == "__main__":
    main()
