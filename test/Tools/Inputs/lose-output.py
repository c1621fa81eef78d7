"""Every tool says that its standard output could not be written, and ends with 2.

usage: lose-output.py RULE RULES
"""

import pathlib
import subprocess
import sys

FULL = "error: cannot write the standard output: No space left on device\n"
CLOSED = "error: cannot write the standard output: Bad file descriptor\n"


def check(command, output, expected):
    command = list(command)
    result = subprocess.run(
        ["sh", "-c", f'exec "$@" {output}', "sh", *command],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    if (result.returncode, result.stderr) != (2, expected):
        sys.exit(
            f"{' '.join(command)} {output} ended with {result.returncode}\n{result.stderr}"
            f"expected 2\n{expected}"
        )


def main():
    rule, rules = sys.argv[1:]
    tools = [
        "updraftc",
        "updraft-format",
        "updraft-run",
        "updraft-lsp",
        "updraft-opt",
        "updraft-mlir-lsp",
        "updraft-bench",
    ]
    commands = [[tool, option] for tool in tools for option in ("--version", "--help")]
    commands += [
        ["updraftc", "cache", "list"],
        ["updraftc", f"{rules}/adamw.upd", "--emit=asm"],
        ["updraftc", f"{rules}/adamw.upd", "--explain"],
        ["updraftc", f"{rules}/adamw.upd", "-o", "-"],
        ["updraft-format", rule],
        ["updraft-bench", "--quick", "adamw-1x50M"],
    ]
    for command in commands:
        check(command, ">/dev/full", FULL)
        check(command, ">&-", CLOSED)
        print(f"{' '.join(command)}: reported", flush=True)
    # A file that is opened while the standard output is closed must not become it.
    stage = pathlib.Path(f"{rule}.mlir")
    command = ["updraftc", f"{rules}/adamw.upd", "--explain", "--emit=schedule", "-o", stage]
    check(map(str, command), ">&-", CLOSED)
    text = stage.read_text()
    assert "updraft.plan @AdamW" in text and "sweep over data" not in text, text
    print("all reported")


if __name__ == "__main__":
    main()
