"""Every tool says what it is.

usage: check-options.py TOOL...
"""

import pathlib
import re
import subprocess
import sys

VERSION = re.compile(r"^(updraft|updraft-[a-z-]+) \d+\.\d+\.\d+ \(LLVM 22\.1\.\d+\)$", re.MULTILINE)


def said(tool, option):
    result = subprocess.run([tool, option], capture_output=True, text=True, timeout=60)
    if result.returncode != 0:
        sys.exit(f"{tool} {option} ended with {result.returncode}\n{result.stderr}")
    return result.stdout


def main():
    for tool in sys.argv[1:]:
        name = pathlib.Path(tool).name
        version = said(tool, "--version")
        if not VERSION.fullmatch(version.strip()):
            sys.exit(f"{name} --version says {version!r}")
        text = said(tool, "--help")
        head, _, examples = text.partition("Examples:\n")
        example, _, codes = examples.partition("Exit codes: 0 ")
        if not head or f"\n  {name}" not in f"\n{example}" or not codes:
            sys.exit(f"{name} --help lacks examples or exit codes:\n{text}")
        print(name, "says what it is")


if __name__ == "__main__":
    main()
