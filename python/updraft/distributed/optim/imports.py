"""The files that a rule imports. They are sent with it, because workers may lack them."""

import hashlib
import os
import re

from ...compiled_rule import read_source
from ...errors import FileError

_IMPORT = re.compile(r'^([ \t]*import[ \t]+)"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)
_UNPLAIN = re.compile(r"[^A-Za-z0-9_-]")


class Imports:
    """Files, with names derived from their content instead of their location."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self._open: list[str] = []

    def bundled(self, text: str, path: str) -> str:
        """Returns a text that imports files from the bundle, and adds the files to the bundle.

        Args:
            path: the path of the text. Its imports are searched in the same folder.
        """
        folder = os.path.dirname(path)  # noqa: PTH120
        return _IMPORT.sub(lambda found: self._replaced(found, folder), text)

    def _replaced(self, found: "re.Match[str]", folder: str) -> str:
        written = re.sub(r"\\(.)", r"\1", found[2])
        path = os.path.realpath(os.path.join(folder, written))  # noqa: PTH118
        # The compiler reports files that can't be read.
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
