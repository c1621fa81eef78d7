"""Reads the C and C++ headers: their introductions, sections, and groups of declarations.

The headers' comments are plain ones, each above a declaration or a group of them.
"""

import dataclasses
import itertools
import pathlib
import re
import textwrap
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"


_LEXEME = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+')",
    re.DOTALL,
)
_BANNER = re.compile(r"^/[/*]?\*?===-+.*?$", re.MULTILINE)
_TYPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:typedef\s+)?(class|struct|enum|union)\b", re.DOTALL)


@dataclasses.dataclass
class Group:
    """Declarations that share a comment. A class has groups of its own."""

    comment: str = ""
    code: str = ""
    names: list[str] = dataclasses.field(default_factory=list)
    members: list["Group"] = dataclasses.field(default_factory=list)
    is_section: bool = False
    # A comment with three slashes is about one declaration.
    is_single: bool = False
    # The names that no earlier group declares, to which other pages may link.
    anchored: list[str] = dataclasses.field(default_factory=list)


def _blanked(code: str) -> str:
    """The code with its comments and literals blanked, with every offset kept."""
    return _LEXEME.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), code)


def _closing(code: str, opening: int) -> int:
    """The offset of the bracket that closes the one at an offset."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    depth = 0
    for offset in range(opening, len(code)):
        if code[offset] in pairs:
            depth += 1
        elif code[offset] in pairs.values():
            depth -= 1
            if depth == 0:
                return offset
    raise ValueError(f"unbalanced brackets in `{code[opening : opening + 60]}`")


def without_preprocessor(text: str) -> str:
    """Drops conditions and includes, what only C++ sees in a C header, and undocumented macros."""
    text = re.sub(
        r"^#ifdef __cplusplus\n.*?^(?:#else\n(.*?))?#endif\n", r"\1", text, flags=re.M | re.S
    )
    text = re.sub(
        r"^#if.*\n(#define UPD_EXPORT.*\n#else\n)#define.*\n#endif\n", "", text, flags=re.M
    )
    lines = []
    continued = False
    for line in text.splitlines():
        directive = line.startswith("#") or continued
        documented = lines and lines[-1].rstrip().endswith("*/") and line.startswith("#define")
        if directive and not documented:
            continued = line.endswith("\\")
            continue
        lines.append(line)
    return "\n".join(lines) + "\n"


def comment_text(comment: str) -> str:
    """The text of a comment, without its marks."""
    lines = []
    for line in comment.strip().splitlines():
        line = re.sub(r"^\s*(/\*+|\*/|///?<?|\*(?!/))\s?", "", line)
        lines.append(re.sub(r"\s*\*/\s*$", "", line).rstrip())
    return "\n".join(lines).strip("\n")


def _introduction(text: str) -> tuple[str, str, str]:
    """The title and the paragraphs of the comment at the beginning, and the rest."""
    lines = text.splitlines()
    title = re.search(r"===-+ \S+ - (.*?) -*\*", lines[0])
    title = title or re.search(r"===-+ \S+ - (.*?) -+", lines[0])
    comment = [*itertools.takewhile(re.compile(r"\s*(//|\*)").match, lines[1:])]
    body = [re.sub(r"^\s*(//|\*)\s?", "", line) for line in comment if "===" not in line]
    rest = "\n".join(lines[1 + len(comment) :])
    return title[1].strip() if title else "", "\n".join(body).strip("\n"), rest


def statements(code: str) -> Iterator[tuple[str, str]]:
    """Splits code into `comment`, `blank` and `code`: one statement each, with its semicolon."""
    blanked = _blanked(code)
    at = 0
    while at < len(code):
        rest = code[at:]
        if gap := re.match(r"[ \t]*\n", rest):
            yield "blank", ""
            at += gap.end()
        elif comment := re.match(
            r"\s*(//[^\n]*(\n[ \t]*//[^\n]*)*|/\*.*?\*/)[ \t]*\n?", rest, re.DOTALL
        ):
            yield "comment", comment[1]
            at += comment.end()
        elif macro := re.match(r"[ \t]*#define[^\n]*\n", rest):
            yield "code", macro[0].strip()
            at += macro.end()
        elif label := re.match(r"\s*(public|private|protected):[ \t]*\n", rest):
            yield "label", label[1]
            at += label.end()
        else:
            end = _end_of_statement(blanked, at)
            yield "code", textwrap.dedent(code[at:end].strip("\n")).strip()
            # A comment on the same line belongs to the statement.
            same = re.match(r"[ \t]*(//[^\n]*|/\*[^\n]*?\*/)?[ \t]*(\n|$)", code[end:])
            if same and same[1]:
                yield "beside", same[1]
            at = end + (same.end() if same else 0)


def _end_of_statement(blanked: str, at: int) -> int:
    offset = at
    while offset < len(blanked):
        mark = blanked[offset]
        if mark in "([":
            offset = _closing(blanked, offset) + 1
        elif mark == "{":
            offset = _closing(blanked, offset) + 1
            before = blanked[at:offset]
            if "(" in before.split("{")[0] and not _TYPE.match(before.strip()):
                # The body of a function, unless it initializes a member of the constructor.
                after = blanked[offset:].lstrip()
                if not after.startswith((",", "{", ";", ")")):
                    return offset
            elif re.match(r"\s*(inline )?namespace\b|\s*extern\b", before):
                return offset
        elif mark == ";":
            return offset + 1
        else:
            offset += 1
    return len(blanked)


def _interface(code: str) -> str:
    """A declaration without the body of its function."""
    blanked = _blanked(code)
    if _TYPE.match(code):
        return code
    depth = 0
    for offset, mark in enumerate(blanked):
        if mark in "([":
            depth += 1
        elif mark in ")]":
            depth -= 1
        elif depth == 0 and (
            (
                mark == "{"
                and "(" in blanked[:offset]
                and "=" not in blanked[:offset].rpartition(")")[2]
            )
            or (
                mark == ":"
                and "(" in blanked[:offset]
                and blanked[offset - 1 : offset + 2].count(":") == 1
            )
        ):
            return code[:offset].rstrip() + ";"
    return code


def _names(code: str) -> list[str]:
    """The names that a statement declares."""
    blanked = _blanked(code)
    head = blanked.split("{")[0]
    if define := re.match(r"#define (\w+)", code):
        return [define[1]]
    if blanked.startswith("typedef"):
        function = re.search(r"\b(\w+)\)?\s*\([^()]*\);$", head)
        return [function[1] if function else re.findall(r"\w+", blanked)[-1]]
    if kind := _TYPE.match(head.strip()):
        found = re.search(rf"\b{kind[1]}\b(?:\s+(?:class|\[\[.*?\]\]))*\s+(\w+)", head)
        if found:
            return [found[1]]
        return re.findall(r"\b(\w+)\s*=", blanked.partition("{")[2])
    if call := re.search(r"(~?\w+|operator\W+|operator bool)\s*\(", head):
        return [call[1].strip()]
    variable = re.search(r"(\w+)\s*(?:=.*)?;?$", head.strip(), re.DOTALL)
    return [variable[1]] if variable else []


def _groups(code: str, members: bool = False) -> list[Group]:
    """The public declarations of a piece of code."""
    result: list[Group] = []
    current: Group | None = None
    visible = True
    for kind, text in statements(code):
        if kind == "label":
            visible, current = text == "public", None
        elif not visible:
            continue
        elif kind == "blank":
            current = None
        elif kind == "comment":
            if "===" in text:
                lines = [line for line in comment_text(text).splitlines() if "===" not in line]
                result.append(Group(comment=" ".join(lines).strip(), is_section=True))
                current = None
            else:
                current = Group(comment=comment_text(text), is_single=text.startswith("///"))
                result.append(current)
        elif kind == "beside" and current:
            current.code += "  " + text
        elif kind == "code":
            inner = re.match(r"(?:inline )?namespace ([\w:]*)\s*\{(.*)\}$", text, re.DOTALL)
            if inner:
                if "detail" not in inner[1]:
                    result += _groups(inner[2], members)
                current = None
                continue
            if re.match(r"(friend|using namespace|static_assert)\b", text):
                continue
            # The definition of a member whose declaration is in its class.
            if not members and re.search(r"\w::\w+\(", text.split("{")[0]):
                continue
            if current is None or (current.code and current.is_single):
                current = Group()
                result.append(current)
            _add(current, text)
    return [group for group in result if group.code or group.comment]


def _add(group: Group, text: str) -> None:
    blanked = _blanked(text)
    kind = _TYPE.match(blanked)
    head, brace, _ = blanked.partition("{")
    body = text[len(head) + 1 : text.rindex("}")] if brace else ""
    if kind and kind[1] in ("class", "struct") and "(" in _blanked(body) and "typedef" not in head:
        if kind[1] == "class":
            body = "private:\n" + body
        group.members += _groups(body, members=True)
        text = text[: len(head)].rstrip() + ";"
    group.names += _names(text if not group.members else head)
    code = _interface(text).replace(" UPD_INT32", "")
    if code.startswith("UPD_EXPORT "):
        code = re.sub(r"\n {11}", "\n", code.removeprefix("UPD_EXPORT "))
    group.code += ("\n" if group.code else "") + code


def docname(path: str) -> str:
    """The page of a header, by its path as programs include it."""
    folder = "c" if path.startswith("updraft-c/") else "cpp"
    return f"api/{folder}/" + path.partition("/")[2].removesuffix(".h").replace("/", "-")


@dataclasses.dataclass
class Header:
    """One header, read."""

    path: str
    title: str
    introduction: str
    groups: list[Group]

    @property
    def docname(self) -> str:
        return docname(self.path)

    def names(self) -> Iterator[str]:
        for group in self.groups:
            yield from group.names


def read(path: str) -> Header:
    title, introduction, rest = _introduction((INCLUDE / path).read_text(encoding="utf-8"))
    groups = _groups(without_preprocessor(rest))
    seen: set[str] = set()
    for group in groups:
        group.anchored = [name for name in dict.fromkeys(group.names) if name not in seen]
        seen.update(group.names)
    return Header(path, title, introduction, groups)
