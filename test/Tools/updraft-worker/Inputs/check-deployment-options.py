"""Checks that the files in deploy/ use the options that `updraft-worker --help` prints.

The example configuration must have every option, and the defaults in its comments must be right.

usage: check-deployment-options.py HELP DEPLOY
"""

import pathlib
import re
import sys

# Options of other programs.
FOREIGN = {"Containerfile": {"--from"}}
# The command line alone has these.
NOT_CONFIGURABLE = {"help", "version", "config", "check-config"}


def options_of(text):
    """Returns the options and their defaults (or None) from the help."""
    return dict(re.findall(r"^  (?:-\w,)?--([a-z-]+)(?: [^=\n]*=(\S+))?", text, re.MULTILINE))


def check_flags(path, options):
    """Yields (line, complaint); returns the options in a file with a command line."""
    found = set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for flag in re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", line):
            if flag in FOREIGN.get(path.name, ()):
                continue
            found.add(flag)
            if flag[2:] not in options:
                yield number, f"unknown option `{flag}`"
    return found


def check_keys(path, options):
    """Yields (line, complaint); returns the options in a configuration."""
    found = set()
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.fullmatch(r"(#?)([a-zA-Z][\w-]*) *= *(.*)", line)
        if not match:
            continue
        comment, key, value = match.groups()
        found.add(key)
        if key not in options or key in NOT_CONFIGURABLE:
            yield number, f"unknown option `{key}`"
        elif comment and options[key] and value.strip('"') != options[key]:
            yield number, f"`{key} = {value}`, whose default is `{options[key]}`"
    if missing := sorted(options.keys() - found - NOT_CONFIGURABLE):
        yield 1, f"lacks the options {', '.join(missing)}"
    return found


def main():
    help_text, deploy = map(pathlib.Path, sys.argv[1:])
    options = options_of(help_text.read_text())
    checks = {
        "systemd/updraft-worker.service": check_flags,
        "systemd/updraft-worker.toml": check_keys,
        "container/Containerfile": check_flags,
        "kubernetes/updraft-worker.yaml": check_flags,
    }
    failed = False
    for name, check in checks.items():
        path = deploy / name
        complaints = check(path, options)
        while True:
            try:
                line, complaint = next(complaints)
            except StopIteration as end:
                print(f"{path.name}: {len(end.value)} options")
                break
            print(f"{path.name}:{line}: error: {complaint}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
