"""Pages for the C and C++ headers.

A page follows its header: the introduction, the sections, and for each group the declarations
without bodies, then the comment. Names in comments link to their declarations.
"""

import itertools
import re
import textwrap
from collections.abc import Callable

from headers import Group, Header, read

C_HEADERS = [
    "types", "rule", "optimizer", "compiler", "package", "linked_rule", "language", "dlpack",
    "environment", "probes", "timeline", "kernel", "gpu_kernel", "descriptor", "package_format",
]  # fmt: skip
CPP_HEADERS = [
    "Result.h", "Span.h", "Tensor.h", "Rule.h", "Compiler.h", "Package.h", "Optimizer.h",
    "ThreadPool.h", "Timeline.h", "torch.h", "torch/Options.h", "dist/Client.h",
]  # fmt: skip

# Beginnings of paragraphs that name their subject.
_SUBJECT = re.compile(
    r"^(Errors|Threads|Devices|GPUs|CUDA graphs|Memory|Versions|Structs|Handles|Texts)([.:])(?=\s)"
)
_WORD = re.compile(
    r"`[^`]*`|docs/[\w/-]+\.md|updraft(?:-c)?/[\w/-]+\.h|[A-Za-z_]\w*(?:::\w+)*(?:\(\))?|[^\w`]"
)


def anchor(header: Header, name: str) -> str:
    """The anchor of a name. Anchors ignore case, which distinguishes constants from functions."""
    kind = "constant-" if name.isupper() else ""
    return f"{header.docname.removeprefix('api/').replace('/', '-')}-{kind}{name}".lower()


def _paragraphs(text: str, link: Callable[[str], str]) -> str:
    """The text of a comment as Markdown. Indented lines are examples or tables."""
    pieces = []
    for paragraph in filter(None, re.split(r"\n\s*\n", text)):
        for example, lines in itertools.groupby(
            paragraph.splitlines(), lambda it: it.startswith("  ")
        ):
            part = "\n".join(lines)
            if example:
                pieces.append(f"```text\n{textwrap.dedent(part)}\n```")
            else:
                part = _WORD.sub(lambda it: link(it[0]), part)
                pieces.append(_SUBJECT.sub(r"**\1\2**", part))
    return "\n\n".join(pieces)


def _linker(all_headers: list[Header]) -> Callable[[str], str]:
    places = {}
    pages = {header.path: f"/{header.docname}.md" for header in all_headers}
    for header in all_headers:
        for name in header.names():
            places.setdefault(name, anchor(header, name))

    def link(word: str) -> str:
        if page := re.fullmatch(r"docs/([\w/-]+\.md)", word):
            return f"[{page[1]}](/{page[1]})"
        if word in pages:
            return f"[`{word}`]({pages[word]})"
        bare = word.strip("`").removesuffix("()")
        known = bare.startswith(("upd_", "UPD_")) or (len(bare) > 3 and word.startswith("`"))
        if known and bare in places:
            return f"[`{word.strip('`')}`](#{places[bare]})"
        if word.startswith("`"):
            return word
        if re.fullmatch(r"\w+\(\)|\w+(::\w+)+(\(\))?|[A-Za-z0-9]+(_[A-Za-z0-9]+)+", word):
            return f"`{word}`"
        return re.sub(r"([*_<>\[\]\\$])", r"\\\1", word)

    return link


def _markdown(group: Group, header: Header, link: Callable[[str], str], level: int) -> str:
    """A group as Markdown, with a heading of a level, or none of level 0."""
    if group.is_section:
        return f"## {group.comment}\n"
    if not group.code:
        return _paragraphs(group.comment, link) + "\n"
    pieces = []
    language = "c" if header.path.startswith("updraft-c/") else "c++"
    if level:
        pieces += [f"({anchor(header, name)})=" for name in group.anchored[::-1]]
        names = [f"`{name}`" for name in dict.fromkeys(group.names)]
        shown = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
        pieces.append(f"{'#' * level} {shown}\n")
    lines = group.code.splitlines()
    pieces.append(f"```{language}\n" + "\n".join(lines) + "\n```\n")
    if group.comment:
        pieces.append(_paragraphs(group.comment, link) + "\n")
    if group.members:
        inner = "\n".join(_markdown(each, header, link, 0) for each in group.members)
        pieces.append(f":::{{container}} members\n{inner}\n:::\n")
    return "\n".join(pieces)


def pages() -> dict[str, str]:
    """The Markdown of each page, by its name."""
    c = [read(f"updraft-c/{name}.h") for name in C_HEADERS]
    cpp = [read(f"updraft/{name}") for name in CPP_HEADERS]
    link = _linker([*c, *cpp])
    result = {}
    for header in [*c, *cpp]:
        pieces = [f"# {header.title}\n", f'```c++\n#include "{header.path}"\n```\n']
        pieces.append(_paragraphs(header.introduction, link) + "\n")
        level = 2
        for group in header.groups:
            pieces.append(_markdown(group, header, link, level))
            level = 3 if group.is_section else level
        result[header.docname] = "\n".join(pieces)
    for folder, title, headers, page in (
        ("c", "C API", c, "embedding"),
        ("cpp", "C++ API", cpp, "cpp"),
    ):
        rows = "\n".join(
            f"| [`{header.path}`](/{header.docname}.md) | {header.title} |" for header in headers
        )
        names = "\n".join(f"{header.path} </{header.docname}>" for header in headers)
        result[f"api/{folder}"] = (
            f"# {title}\n\nGenerated from the comments in `include/`. "
            f"[A page with examples](/{page}.md) shows how to build and link."
            f"\n\n| header | contents |\n|---|---|\n{rows}\n\n"
            f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
        )
    return result
