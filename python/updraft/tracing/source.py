"""Text in the language, with the locations in Python files that its parts come from."""

from bisect import bisect_left

from .. import _updraft
from ..errors import CompileError
from .places import Place, PythonFile

#: The path and text of each file; and spans of the rule's text, each with the number of a file, a
#: span in that file, and whether it is a call that leads to another span.
Origins = tuple[list[tuple[bytes, bytes]], list[tuple[int, int, int, int, int, bool]]]


class Source:
    """Text in the language, with the origin of its parts."""

    def __init__(self, text: bytes, spans: list[tuple[int, int, Place]]) -> None:
        self.text = text
        # (begin, end) in the text, and the place.
        self.spans = spans

    def formatted(self, filename: str) -> "Source":
        """The same text, formatted."""
        try:
            text = _updraft.format(self.text, filename)
        except CompileError:
            # Compiling it reports the same error with its origin.
            return self
        # The formatter only changes the blanks between words.
        before, after = _words(self.text), _words(text)
        if len(before) != len(after):
            return self
        spans = [
            (after[bisect_left(before, begin)], after[bisect_left(before, end) - 1] + 1, place)
            for begin, end, place in self.spans
        ]
        return Source(text, spans)

    def followed_by(self, other: "Source") -> "Source":
        """Both texts, separated by an empty line."""
        text = self.text + b"\n" if self.text else b""
        spans = [(begin + len(text), end + len(text), place) for begin, end, place in other.spans]
        return Source(text + other.text, self.spans + spans)

    def origins(self) -> Origins:
        """The files and spans for the compiler. Places without known text are omitted."""
        files: dict[str, tuple[int, PythonFile]] = {}
        found = []
        # If spans are equal, the inner one was created first.
        for begin, end, around in reversed(self.spans):
            for place in (*reversed(around.calls), around):
                if place.path not in files:
                    files[place.path] = (len(files), PythonFile(place.path, place.namespace))
                number, file = files[place.path]
                span = file.span(place)
                if span is not None:
                    found.append((begin, end, number, *span, place is not around))
        found.sort(key=lambda span: (span[0], -span[1]))
        return [(file.path, file.text) for _, file in files.values()], found


def _words(text: bytes) -> list[int]:
    """The offsets of all non-blank bytes."""
    return [offset for offset, byte in enumerate(text) if byte not in b" \n\t\r"]
