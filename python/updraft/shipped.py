"""The rules that come with the package."""

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
    """Returns the names of the rules that come with the package, for `load` and `chain`.

    >>> "AdamW" in shipped_rules()
    True
    """
    return sorted(_files())


def part_path(name: str) -> str:
    """Returns a file of rules that are parts of an optimizer, beside what is not a rule."""
    return os.path.join(_FOLDER, "parts", f"{name}.upd")  # noqa: PTH118


def _known(name: str) -> str | None:
    """Returns a shipped rule's own name; the case of the given one does not matter."""
    return next((known for known in _files() if known.lower() == name.lower()), None)


def path_of(name: str) -> str | None:
    """Returns the file of a shipped rule; the case of the name does not matter."""
    known = _known(name)
    return None if known is None else _files()[known]


def require_path(name: str) -> str:
    """Returns the file of a shipped rule, or says which one may be meant."""
    return _files()[require_name(name)]


def require_name(name: str) -> str:
    """Returns a shipped rule's own name, or says which one may be meant."""
    known = _known(name)
    if known is not None:
        return known
    near = hint(
        name,
        _files(),
        "`updraft.shipped_rules()` lists them, and the name of a file ends in `.upd`",
    )
    raise FileMissingError(f"no rule `{name}` comes with the package; {near}")
