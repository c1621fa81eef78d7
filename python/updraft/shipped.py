"""The rules of the package."""

import functools
import os

from .errors import FileMissingError
from .near_names import hint

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rules")  # noqa: PTH100, PTH118, PTH120


@functools.cache
def _files() -> dict[str, str]:
    """The path of each rule's file, by the rule's name."""
    import re

    found = {}
    for entry in sorted(os.listdir(_FOLDER)):  # noqa: PTH208
        path = os.path.join(_FOLDER, entry)  # noqa: PTH118
        if not entry.endswith(".upd"):
            continue
        with open(path, encoding="utf-8") as file:
            for name in re.findall(r"^rule (\w+)\(", file.read(), re.MULTILINE):
                found[name] = path
    return found


def shipped_rules() -> list[str]:
    """Returns the names of the package's rules, for `load` and `chain`.

    >>> "AdamW" in shipped_rules()
    True
    """
    return sorted(_files())


def part_path(name: str) -> str:
    """Returns the path of a file with parts of optimizers, which aren't complete rules."""
    return os.path.join(_FOLDER, "parts", f"{name}.upd")  # noqa: PTH118


def _known(name: str) -> str | None:
    """Returns the exact name of a shipped rule, ignoring the case of the given name."""
    return next((known for known in _files() if known.lower() == name.lower()), None)


def path_of(name: str) -> str | None:
    """Returns the file of a shipped rule, ignoring the case of the name."""
    known = _known(name)
    return None if known is None else _files()[known]


def require_path(name: str) -> str:
    """Returns the file of a shipped rule, or raises an error that suggests a similar name."""
    return _files()[require_name(name)]


def require_name(name: str) -> str:
    """Returns the exact name of a shipped rule, or raises an error that suggests a similar name."""
    known = _known(name)
    if known is not None:
        return known
    near = hint(
        name,
        _files(),
        "`updraft.shipped_rules()` lists the rules of the package, and the name of a file ends in "
        "`.upd`",
    )
    raise FileMissingError(f"unknown rule `{name}`; {near}")
