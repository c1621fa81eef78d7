"""Text of the language, with the places in Python files that its pieces come from."""

from bisect import bisect_left

from .. import _updraft
from ..errors import CompileError
from .places import Place, PythonFile

#: The path and text of each file; and spans of the rule's text, each with a file's number, a span
#: of that file, and whether it is a call that leads to another span.
Origins = tuple[list[tuple[bytes, bytes]], list[tuple[int, int, int, int, int, bool]]]


class Source:
    """Text of the language, and where its pieces come from."""

    def __init__(self, text: bytes, spans: list[tuple[int, int, Place]]) -> None:
        self.text = text
        # (begin, end) of the text, and the place.
        self.spans = spans

    def formatted(self, filename: str) -> "Source":
        """The same in the project's style."""
        try:
            text = _updraft.format(self.text, filename)
        except CompileError:
            # Compiling it gives the same error, and shows where it comes from.
            return self
        # The same words in the same order: only the blanks between them change.
        before, after = _words(self.text), _words(text)
        if len(before) != len(after):
            return self
        spans = [
            (after[bisect_left(before, begin)], after[bisect_left(before, end) - 1] + 1, place)
            for begin, end, place in self.spans
        ]
        return Source(text, spans)

    def followed_by(self, other: "Source") -> "Source":
        """Both texts, a line between them."""
        text = self.text + b"\n" if self.text else b""
        spans = [(begin + len(text), end + len(text), place) for begin, end, place in other.spans]
        return Source(text + other.text, self.spans + spans)

    def origins(self) -> Origins:
        """The files and spans as the compiler takes them. What has no text is left out."""
        files: dict[str, tuple[int, PythonFile]] = {}
        found = []
        # Of equal spans the inner one was made first.
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
    """The offsets of all bytes that are no blanks."""
    return [offset for offset, byte in enumerate(text) if byte not in b" \n\t\r"]
