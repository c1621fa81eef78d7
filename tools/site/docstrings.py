"""Docstrings of the package as reStructuredText, for Sphinx.

The docstrings have code in single backticks, indented examples, and Google's sections. Those of
`updraft.optim` quote torch, with marks of reStructuredText that only torch's pages can resolve.
"""

import re
import textwrap
from collections.abc import Iterator

_SECTION = re.compile(r"^(Args|Returns|Yields|Raises|Shape|Example|Examples|Attributes|Note):$")
_FIELDS = {"Args": "param", "Raises": "raises", "Attributes": "ivar"}


def inline(text: str) -> str:
    """Escapes prose, and marks code.

    >>> inline("the default of `lr` is lr_max * 2")
    'the default of ``lr`` is lr\\\\_max \\\\* 2'
    """
    text = re.sub(r":\w+:`([^`<]+?)\s*(?:<[^`]*>)?`", r"\1", text)
    text = re.sub(r"`([^`]+)`_+", r"\1", text)
    text = re.sub(r"\\\((.*?)\\\)", r"`\1`", text)
    text = text.replace("``", "`")
    pieces = text.split("`")
    for index, piece in enumerate(pieces):
        if index % 2 and index < len(pieces) - 1:
            # A character right behind code would be part of it.
            gap = "\\ " if re.match(r"\w", pieces[index + 1]) else ""
            pieces[index] = f"``{piece}``{gap}"
        else:
            pieces[index] = re.sub(r"([*_|\\])", r"\\\1", piece)
    return "".join(pieces)


def _is_code(lines: list[str]) -> bool:
    return all(line.startswith("  ") or not line for line in lines)


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """Paragraphs. Indented ones that follow each other are one."""
    current: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            current.append(line)
        elif current:
            yield current
            current = []


def _language(text: str) -> str:
    try:
        compile(text, "example", "exec", dont_inherit=True)
    except SyntaxError:
        return "text"
    return "python"


def _prose(lines: list[str]) -> Iterator[str]:
    code: list[str] = []
    for paragraph in [*_paragraphs(lines), [""]]:
        if paragraph != [""] and _is_code(paragraph):
            code += [*paragraph, ""]
            continue
        if code:
            text = textwrap.dedent("\n".join(code)).strip("\n")
            yield f".. code-block:: {_language(text)}"
            yield ""
            yield from textwrap.indent(text, "   ").splitlines()
            yield ""
            code = []
        if paragraph[0].startswith(">>>"):
            yield from paragraph
        else:
            yield from (inline(line) for line in paragraph)
        yield ""


def _entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Pairs of a name, with its type, and its description."""
    name, description = "", []
    for line in lines:
        entry = re.match(r"(?!\s)([\w.*]+(?: \([^:]*\))?)\s*:\s*(.*)", line)
        if entry and not line.startswith(" "):
            if name:
                yield name, " ".join(description)
            name, description = entry[1], [entry[2]]
        else:
            description.append(line.strip())
    if name:
        yield name, " ".join(description)


def _section(title: str, lines: list[str]) -> Iterator[str]:
    text = textwrap.dedent("\n".join(lines)).strip("\n").splitlines()
    if title in _FIELDS:
        for name, description in _entries(text):
            bare = name.partition(" (")[0]
            yield f":{_FIELDS[title]} {bare}: {inline(description)}".replace("**", r"\*\*")
    elif title in ("Returns", "Yields"):
        yield f":{title.lower()}: {inline(' '.join(text))}"
    elif title in ("Example", "Examples"):
        yield from _prose(text)
    else:
        yield f".. rubric:: {title}"
        yield ""
        for line in " ".join(text).replace(" `", "\n`").splitlines() if title == "Note" else text:
            yield f"| {inline(line)}" if title == "Shape" else inline(line)
    yield ""


def converted(lines: list[str]) -> list[str]:
    """Returns a docstring's lines as reStructuredText."""
    result: list[str] = []
    title, current = "", []
    for line in [*lines, "Note:"]:
        section = _SECTION.match(line)
        ends = title and line and not line.startswith(" ")
        if section or ends:
            result += [*(_section(title, current) if title else _prose(current)), ""]
            title, current = (section[1], []) if section else ("", [line])
        else:
            current.append(line)
    return result


def without_comment(lines: list[str], comment: list[str]) -> list[str]:
    """Drops the paragraphs of a rule's comment, which its page shows above."""
    text = "\n".join(lines)
    for paragraph in comment:
        text = text.replace(paragraph.strip("\n"), "")
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n").splitlines()
