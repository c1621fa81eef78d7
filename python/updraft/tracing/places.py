"""Locations in Python source: where a value was created, and the name that it got."""

import contextvars
import functools
import os
import sys
from bisect import bisect_right
from types import CodeType, FrameType
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # noqa: PTH100, PTH120

# The code of the traced function.
traced_code: contextvars.ContextVar[CodeType | None] = contextvars.ContextVar(
    "traced_code", default=None
)

# The most notes in a message.
_MAX_CALLS = 8

# The result of `_results` for a call whose result is returned.
_RETURNED = ""

_STORES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")


class Place:
    """A piece of a Python file: lines from 1, columns in bytes from 0, as in `co_positions`."""

    __slots__ = ("calls", "column", "end_column", "end_line", "line", "namespace", "path")

    def __init__(
        self,
        path: str,
        namespace: dict[str, Any],
        line: int,
        column: int = 0,
        end_line: int | None = None,
        end_column: int | None = None,
    ) -> None:
        self.path = path
        self.namespace = namespace
        self.line = line
        self.column = column
        self.end_line = line if end_line is None else end_line
        # Without an end, covers the whole line.
        self.end_column = end_column
        # The calls from the rule's function to here, innermost first.
        self.calls: tuple[Place, ...] = ()


class PythonFile:
    """The text of a Python file, a notebook cell, or any other source that `linecache` knows."""

    def __init__(self, path: str, namespace: dict[str, Any]) -> None:
        import linecache

        lines = linecache.getlines(path, namespace)
        self.path = path.encode(errors="replace")
        self.lines = [line.encode(errors="replace") for line in lines]
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    @property
    def text(self) -> bytes:
        """The whole text."""
        return b"".join(self.lines)

    def line(self, number: int) -> bytes:
        """A line without its line break; empty if it doesn't exist."""
        return self.lines[number - 1].rstrip(b"\r\n") if 1 <= number <= len(self.lines) else b""

    def span(self, place: Place) -> tuple[int, int] | None:
        """The bytes of a place, or None if the text isn't known."""
        if not 1 <= place.line <= place.end_line <= len(self.lines):
            return None
        first, last = self.line(place.line), self.line(place.end_line)
        column = place.column
        if place.end_column is None:
            column = len(first) - len(first.lstrip())
        end_column = len(last) if place.end_column is None else place.end_column
        if column > len(first) or end_column > len(last):
            return None
        begin = self.starts[place.line - 1] + column
        return begin, max(begin, self.starts[place.end_line - 1] + end_column)


def user_frame() -> FrameType | None:
    """The innermost frame outside of this package and the Python classes that it inherits from."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, "<frozen ")):
        frame = frame.f_back
    return frame


def place_of(frame: FrameType | None) -> Place | None:
    """The expression that a frame is evaluating."""
    if frame is None:
        return None
    code = frame.f_code
    positions = _positions(code)
    index = frame.f_lasti // 2
    line, end_line, column, end_column = (
        positions[index] if 0 <= index < len(positions) else (None, None, None, None)
    )
    if line is None:
        line = frame.f_lineno or code.co_firstlineno
    if end_line is None or column is None or end_column is None:
        return Place(code.co_filename, frame.f_globals, line)
    return Place(code.co_filename, frame.f_globals, line, column, end_line, end_column)


def here(frame: FrameType | None = None) -> Place | None:
    """The user's expression that is being evaluated, with the calls that led there."""
    frame = frame or user_frame()
    place = place_of(frame)
    if place is None:
        return None
    root = traced_code.get()
    calls: list[Place] = []
    while root is not None and frame is not None and frame.f_code is not root:
        # A comprehension is a frame, but not a call in the source.
        is_call = not frame.f_code.co_name.endswith(("comp>", "genexpr>"))
        frame = frame.f_back
        if frame is None or frame.f_code.co_filename.startswith(_PACKAGE):
            break
        call = place_of(frame) if is_call and len(calls) < _MAX_CALLS else None
        if call is not None:
            calls.append(call)
    place.calls = tuple(calls)
    return place


def assigned_name(frame: FrameType | None) -> str | None:
    """The variable that the result of a frame's current expression is assigned to, or None.

    If a function returns the expression, this is the variable that its caller assigns the result
    to.
    """
    while frame is not None:
        offsets, names = _results(frame.f_code)
        # A frame may point past its instruction, into the instruction's cache.
        name = names[bisect_right(offsets, frame.f_lasti) - 1] if offsets else None
        if name != _RETURNED:
            return name
        frame = frame.f_back
        if frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            return None
    return None


@functools.lru_cache(maxsize=512)
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


@functools.lru_cache(maxsize=512)
def _results(code: CodeType) -> tuple[list[int], list[str | None]]:
    """The offset of every instruction, and where the next instruction stores its result."""
    import dis

    instructions = list(dis.get_instructions(code))
    offsets = [instruction.offset for instruction in instructions]
    names: list[str | None] = []
    for index in range(1, len(instructions) + 1):
        # Both branches of `a if static else b` continue at the instruction that takes the result. A
        # result that is assigned twice is copied.
        while index < len(instructions) and instructions[index].opname in ("JUMP_FORWARD", "COPY"):
            jumps = instructions[index].opname == "JUMP_FORWARD"
            target = instructions[index].argval
            index = bisect_right(offsets, target) - 1 if jumps else index + 1
        following = instructions[index] if index < len(instructions) else None
        if following is None:
            names.append(None)
        elif following.opname in _STORES:
            names.append(following.argval)
        elif following.opname.startswith("STORE_FAST_"):
            names.append(following.argval[0] if isinstance(following.argval, tuple) else None)
        else:
            names.append(_RETURNED if following.opname == "RETURN_VALUE" else None)
    return offsets, names
