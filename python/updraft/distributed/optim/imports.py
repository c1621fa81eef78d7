"""The files that a rule imports, sent with it: a worker need not have them."""

import hashlib
import os
import re

from ...compiled_rule import read_source
from ...errors import FileError

_IMPORT = re.compile(r'^([ \t]*import[ \t]+)"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
_UNPLAIN = re.compile(r"[^A-Za-z0-9_-]")


class Imports:
    """Files by names that say what is in them, and not where they were."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self._open: list[str] = []

    def bundled(self, text: str, path: str) -> str:
        """Returns a text that imports files of the bundle, to which they are added.

        Args:
            path: of the text; what it imports is looked for beside it.
        """
        folder = os.path.dirname(path)  # noqa: PTH120
        return _IMPORT.sub(lambda found: self._replaced(found, folder), text)

    def _replaced(self, found: "re.Match[str]", folder: str) -> str:
        written = re.sub(r"\\(.)", r"\1", found[2])
        path = os.path.realpath(os.path.join(folder, written))  # noqa: PTH118
        # What cannot be read, the compiler will say.
        if path in self._open:
            return found[0]
        try:
            text = read_source(path).decode()
        except (FileError, UnicodeDecodeError):
            return found[0]
        self._open.append(path)
        text = self.bundled(text, path)
        self._open.pop()
        stem = _UNPLAIN.sub("_", os.path.splitext(os.path.basename(path))[0])  # noqa: PTH119, PTH122
        name = f"{stem}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.upd"
        self.files[name] = text
        return f'{found[1]}"{name}"'
