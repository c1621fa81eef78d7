"""Errors during tracing, in the format of the compiler."""

from ..errors import CompileError
from .places import Place, PythonFile

# As in lib/Support/Diagnostics.cpp: the maximum width of a shown line around the location.
_MAX_SHOWN = 240


def _printable(line: bytes) -> bytes:
    return bytes(
        byte if (byte >= 0x20 and byte != 0x7F) or byte == 0x09 else ord("?") for byte in line
    )


def _columns(text: bytes) -> int:
    """The number of columns of a text: continuation bytes of UTF-8 don't count."""
    return sum(byte & 0xC0 != 0x80 for byte in text)


def render(severity: str, message: str, place: Place | None) -> str:
    """Formats a message with its line and a caret."""
    if place is None:
        return f"{severity}: {message}\n"
    file = PythonFile(place.path, place.namespace)
    span = file.span(place)
    if span is None:
        return f"{place.path}:{place.line}: {severity}: {message}\n"
    column = span[0] - file.starts[place.line - 1]
    text = f"{place.path}:{place.line}:{column + 1}: {severity}: {message}\n"
    line = file.line(place.line)
    marked = span[1] - span[0]
    if len(line) > _MAX_SHOWN:
        begin = max(0, column - _MAX_SHOWN // 2)
        while begin < column and line[begin] & 0xC0 == 0x80:
            begin += 1
        line, column = line[begin : begin + _MAX_SHOWN], column - begin
    indent = "".join("\t" if byte == 0x09 else " " for byte in line[:column] if byte & 0xC0 != 0x80)
    carets = "^" + "~" * (max(1, _columns(line[column : column + marked])) - 1)
    return text + _printable(line).decode(errors="replace") + "\n" + indent + carets + "\n"


def called(call: Place | None) -> str:
    """The text of the called expression."""
    if call is None:
        return "a function"
    file = PythonFile(call.path, call.namespace)
    span = file.span(call)
    text = b"" if span is None else file.text[span[0] : span[1]]
    line = text.decode(errors="replace").split("\n")[0].rstrip("\r")
    return line.partition("(")[0].rstrip(" ") or line or "a function"


class UnknownAttributeError(CompileError, AttributeError):
    """A value or a mapping of a rule lacks an attribute. `hasattr` is false for it."""


def error(
    message: str,
    place: Place | None,
    note: tuple[str, Place | None] | None = None,
    kind: type[CompileError] = CompileError,
) -> CompileError:
    """Creates the exception for a mistake in a traced function."""
    text = render("error", message, place)
    for call in place.calls if place is not None else ():
        text += render("note", f"in this call of `{called(call)}`", call)
    if note is not None:
        text += render("note", *note)
    return kind(text.rstrip("\n"))
