"""Every tool ends with the same exit code whether or not its messages can be written.

usage: lose-messages.py RULE RULES
"""

import json
import pathlib
import subprocess
import sys


def message(**members):
    text = json.dumps({"jsonrpc": "2.0", **members})
    return f"Content-Length: {len(text)}\r\n\r\n{text}"


SESSION = "".join(
    [
        message(id=1, method="initialize", params={"capabilities": {}, "rootUri": None}),
        message(id=2, method="shutdown"),
        message(method="exit"),
    ]
)


def outcome(command, messages, given):
    """The exit code, and what was written to the standard error."""
    result = subprocess.run(
        ["sh", "-c", f'exec "$@" {messages}', "sh", *command],
        input=given,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=120,
    )
    return result.returncode, result.stderr


def main():
    rule, rules = map(pathlib.Path, sys.argv[1:])
    missing = rule.with_name("missing.upd")
    module = rule.with_suffix(".mlir")
    command = ["updraftc", rules / "adamw.upd", "--emit=updraft", "-o", module]
    subprocess.run(command, check=True)
    for given, *command in [
        ("", "updraftc", missing),
        ("", "updraftc", "--unknown"),
        ("", "updraft-format", missing),
        ("", "updraft-format", "--check", rule),
        ("", "updraft-run", missing, "--in", missing, "--out", rule.with_name("out")),
        ("", "updraft-opt", missing.with_suffix(".mlir")),
        ("", "updraft-opt", "--unknown"),
        ("", "updraft-opt", "--mlir-print-ir-after-all", "--canonicalize", module),
        ("", "updraft-bench", "unknown"),
        (SESSION, "updraft-lsp", "--verbose"),
        (SESSION, "updraft-mlir-lsp", "--log=verbose"),
    ]:
        code, messages = outcome(command, "", given)
        assert messages, command
        for lost in ("2>/dev/full", "2>&-"):
            without, _ = outcome(command, lost, given)
            if without != code:
                sys.exit(f"{command} {lost} ended with {without}, expected {code}")
        print(f"{' '.join(map(str, command))}: {code}", flush=True)


if __name__ == "__main__":
    main()
