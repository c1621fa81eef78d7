"""Pages of the dialect and of each pass, from the files of mlir-tblgen (`updraft-docs`)."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "build" / "release" / "docs"

PASSES = {"Transforms": "From rule to plan", "Conversion": "From plan to machine code"}


def _text(name: str) -> str:
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    text = re.sub(r"<!--.*?-->\n*|^\[TOC\]\n*", "", text, flags=re.MULTILINE)
    text = re.sub(r"^```$(?=\n(?:.+\n)*?operation ::=)", "```text", text, flags=re.MULTILINE)
    text = text.replace("<table>", '<table class="docutils">')
    # Files of documentation that descriptions name.
    return re.sub(r"(?<![`\w(/])docs/([\w-]+\.md)", r"[\1](/\1)", text)


def dialect_page() -> str:
    text = _text("Dialect")
    text = re.sub(r"^# .*", "# Operations, types and attributes", text, count=1, flags=re.MULTILINE)
    # The C++ class is of use to authors of passes, but not in the table of contents.
    return re.sub(
        r"^(###? )(`[\w.]+`|\w+) \((::updraft::\w+)\)$",
        r"\1\2\n\nC++ class: `\3`",
        text,
        flags=re.MULTILINE,
    )


def pass_pages() -> dict[str, str]:
    result = {}
    tables = []
    for file, title in PASSES.items():
        parts = re.split(r"^### `-([\w-]+)`$", _text(file), flags=re.MULTILINE)
        rows = ["| pass | summary |", "|---|---|"]
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            summary = re.search(r"^_(.*)_$", body, re.MULTILINE)[1]
            body = re.sub(r"^#### ", "## ", body.strip(), flags=re.MULTILINE)
            body = re.sub(r"\n## (Options|Statistics)\n\n```\n", r"\n## \1\n\n```text\n", body)
            result[f"passes/{name}"] = f"# `-{name}`\n\n{body}\n"
            rows.append(f"| [`-{name}`](passes/{name}.md) | {summary} |")
        tables.append(f"## {title}\n\n" + "\n".join(rows) + "\n")
    names = "\n".join(result)
    result["passes"] = (
        "# Passes\n\n`updraft-opt` runs each of them ([tools](tools.md)). "
        "[Architecture](architecture.md) has the order in which the compiler does.\n\n"
        + "\n".join(tables)
        + f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    )
    return result


def pages() -> dict[str, str]:
    """The Markdown of each page, by its name."""
    return {"dialect-operations": dialect_page(), **pass_pages()}
