"""Prints versions, the CPU that rules are compiled for, and the content of the disk cache.

    python -m updraft.info
    python -m updraft.info --json

Use it for bug reports, or to see which rules have been compiled.
"""

import argparse
import datetime
import errno
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from . import _updraft
from .errors import UpdraftError

_BESIDE = ("numpy", "ml_dtypes")
_EPILOG = """\
The cache is the folder UPDRAFT_CACHE_DIR, or `updraft` in the user's cache folder; `updraftc cache
clear` empties it.

exit code: 0 shown, 1 the cache cannot be read or nothing can be shown, 2 an error in the command
line
"""


def installed(package: str) -> str | None:
    """The version of a package, without importing it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def adapter_path(version: str) -> Path:
    """The path of the adapter for a version of torch such as `2.15`, even if it doesn't exist."""
    return Path(_updraft.__file__).parent / f"libupdraft_torch-{version}.so"


def adapters() -> list[str]:
    """The versions of torch that have adapters, in order. torch needn't be installed."""
    any_version = adapter_path("*")
    prefix = any_version.stem.removesuffix("*")
    found = any_version.parent.glob(any_version.name)
    versions = (path.stem.removeprefix(prefix) for path in found)
    return sorted(versions, key=lambda version: [int(part) for part in version.split(".")])


def version_of(torch: str) -> str:
    """The part of torch's version that an adapter is for.

    >>> version_of("2.15.0+cpu")
    '2.15'
    """
    return ".".join(torch.split(".")[:2])


def all_of(versions: Sequence[str]) -> str:
    """Versions as text.

    >>> all_of(["2.13", "2.14", "2.15"])
    '2.13, 2.14 and 2.15'
    """
    return " and ".join(filter(None, [", ".join(versions[:-1]), versions[-1]]))


def other_torch(versions: Sequence[str], torch: str) -> str:
    """A note if there are adapters, but none for the installed torch."""
    return (
        f"this build of Updraft supports torch {all_of(versions)}, but torch {torch} is "
        "installed; rebuild Updraft with this torch"
    )


def collect() -> dict[str, Any]:
    """Returns the data that the program shows, in the form of `--json`.

    >>> sorted(collect())
    ['adapters', 'cache', 'location', 'packages', 'python', 'target', 'threads', 'versions']
    """
    library = json.loads(_updraft.environment())
    return {
        "versions": {"updraft": library["updraft"], "llvm": library["llvm"]},
        "python": {"version": platform.python_version(), "executable": sys.executable},
        "location": str(Path(_updraft.__file__).parent),
        "packages": {name: installed(name) for name in ("torch", *_BESIDE)},
        "adapters": adapters(),
        "target": library["target"],
        "threads": library["threads"],
        "cache": library["cache"],
    }


def _size(count: int) -> str:
    if count < 1 << 10:
        return f"{count} B"
    if count < 1 << 20:
        return f"{count / (1 << 10):.1f} KiB"
    return f"{count / (1 << 20):.1f} MiB"


def _torch(info: dict[str, Any]) -> str:
    torch, adapters = info["packages"]["torch"], info["adapters"]
    built = f"adapter for {', '.join(adapters)}" if adapters else "built without an adapter"
    if torch is None:
        return f"not installed ({built})"
    fits = version_of(torch) in adapters
    return f"{torch} ({built})" if fits else f"{torch} ({built}: does not fit)"


def _facts(info: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts that take one line each."""
    target, cache = info["target"], info["cache"]
    kept = "none"
    if cache["folder"]:
        sizes = [entry["bytes"] for entry in cache["entries"]]
        rules = "1 rule" if len(sizes) == 1 else f"{len(sizes)} rules"
        limit = _size(cache["max_bytes"])
        kept = f"{cache['folder']}: {rules}, {_size(sum(sizes))} of at most {limit}"
    if "unused" in cache:
        kept = f"not used: {cache['unused']}"
    return [
        ("updraft", f"{info['versions']['updraft']}, in {info['location']}"),
        ("LLVM", info["versions"]["llvm"]),
        ("Python", f"{info['python']['version']}, {info['python']['executable']}"),
        ("torch", _torch(info)),
        *((name, info["packages"][name] or "not installed") for name in _BESIDE),
        ("target", f"{target['cpu']}, {target['triple']}"),
        ("vectors", f"{target['vector_bits']} bits"),
        ("features", " ".join(target["features"])),
        ("threads", str(info["threads"])),
        ("cache", kept),
    ]


def _compiled(info: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """A row for each rule in the cache: name, number of variants, bytes, last use."""
    by_rule: dict[str, list[dict[str, Any]]] = {}
    for entry in info["cache"]["entries"]:
        by_rule.setdefault(entry["rule"], []).append(entry)
    rows = []
    for rule, entries in sorted(by_rule.items()):
        used = datetime.datetime.fromtimestamp(max(entry["last_used"] for entry in entries))
        size = _size(sum(entry["bytes"] for entry in entries))
        rows.append((rule, str(len(entries)), size, f"{used:%Y-%m-%d %H:%M}"))
    return rows


_HEADINGS = ("compiled rule", "variants", "size", "last used")


def _plain(info: dict[str, Any]) -> str:
    lines = [f"{name:<10} {value}" for name, value in _facts(info)]
    rows = _compiled(info)
    if rows:
        table = [_HEADINGS, *rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(_HEADINGS))]
        lines.append("")
        for name, variants, size, used in table:
            lines.append(
                f"{name:<{widths[0]}}  {variants:>{widths[1]}}  {size:>{widths[2]}}  {used}"
            )
    return "\n".join(lines)


def _show_rich(info: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    facts = Table(show_header=False, box=None)
    facts.add_column(style="bold")
    facts.add_column(overflow="fold")
    for name, value in _facts(info):
        facts.add_row(name, Text(value))
    console.print(facts)
    rows = _compiled(info)
    if rows:
        table = Table(*_HEADINGS)
        for column in table.columns[1:3]:
            column.justify = "right"
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)


def _show(text: str) -> int:
    """Prints and flushes; returns the exit code."""
    try:
        if sys.stdout is None:  # stdout is closed
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        print(text, flush=True)
    except OSError as error:
        print(f"error: cannot write the standard output: {error.strerror}", file=sys.stderr)
        # Otherwise Python would flush again at exit, and report the error.
        sys.stdout = None
        return 1
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the program; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m updraft.info",
        description="Shows versions, the CPU that rules are compiled for, and the cached rules.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--plain", action="store_true", help="print plain text, even with rich")
    options = parser.parse_args(arguments)
    try:
        info = collect()
    except UpdraftError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if options.json:
        return _show(json.dumps(info, indent=2))
    if options.plain or sys.stdout is None or not sys.stdout.isatty():
        return _show(_plain(info))
    try:
        _show_rich(info)
    except ImportError:
        return _show(_plain(info))
    return 0


if __name__ == "__main__":
    sys.exit(main())
