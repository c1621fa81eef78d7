"""Display of rules in a notebook: as HTML, or as Markdown if HTML isn't shown."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .tracing.names import KEYWORDS, RESERVED

_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*)"
    r'|(?P<string>"(?:\\.|[^"\\\n])*"?)'
    r"|(?P<number>(?:\b[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\b)"
    rf"|(?P<keyword>\b(?:{'|'.join(sorted(KEYWORDS))})\b)"
    rf"|(?P<input>\b(?:{'|'.join(sorted(RESERVED))})\b)"
    r"|(?P<call>\b[A-Za-z_][A-Za-z0-9_]*(?=\s*\())"
)
# Colours that are readable on white and on black.
_STYLES = {
    "comment": "color:#7d8590;font-style:italic",
    "string": "color:#3f9142",
    "number": "color:#2a8fbd",
    "keyword": "color:#c2477f;font-weight:bold",
    "input": "color:#b7791f",
    "call": "color:#8a63d2",
}


def highlighted(source: str) -> str:
    """Returns a text in the language as HTML, with some words in colour."""
    pieces = []
    end = 0
    for token in _TOKEN.finditer(source):
        pieces.append(html.escape(source[end : token.start()]))
        style = _STYLES[token.lastgroup or ""]
        pieces.append(f'<span style="{style}">{html.escape(token[0])}</span>')
        end = token.end()
    return "".join(pieces) + html.escape(source[end:])


@dataclass(frozen=True)
class Card:
    """The displayed content for a rule."""

    name: str
    remarks: str
    hypers: Mapping[str, float]
    statics: Mapping[str, Any]
    storage: Mapping[str, str]
    source: str

    def _tables(self) -> list[tuple[str, str, list[tuple[str, str]]]]:
        """Yields two headings, and rows of a name in the language and any text."""
        hypers = [(name, f"{value:g}") for name, value in self.hypers.items()]
        statics = [(name, repr(value)) for name, value in self.statics.items()]
        tables = [
            ("hyperparameter", "default", hypers),
            ("static argument", "value", statics),
            ("stored", "as", list(self.storage.items())),
        ]
        return [table for table in tables if table[2]]

    def html(self) -> str:
        """Returns HTML without scripts or style sheets."""
        tables = []
        for left, right, rows in self._tables():
            cells = "".join(
                f"<tr><td style='text-align:left'><code>{html.escape(name)}</code></td>"
                f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
                for name, value in rows
            )
            tables.append(
                "<table style='display:inline-table;vertical-align:top;margin-right:1em'>"
                f"<tr><th>{left}</th><th>{right}</th></tr>{cells}</table>"
            )
        return (
            f"<div><b>{html.escape(self.name)}</b> {html.escape(self.remarks)}<br>"
            f"{''.join(tables)}<details><summary>rule</summary>"
            f"<pre>{highlighted(self.source)}</pre></details></div>"
        )

    def markdown(self) -> str:
        """Returns Markdown with tables and a fenced block."""
        blocks = [f"**`{self.name}`** {_plain(self.remarks)}".rstrip()]
        for left, right, rows in self._tables():
            lines = [f"| {left} | {right} |", "|---|---|"]
            lines += [f"| `{name}` | {_plain(value)} |" for name, value in rows]
            blocks.append("\n".join(lines))
        runs = (len(run) for run in re.findall("`+", self.source))
        fence = "`" * max(3, 1 + max(runs, default=0))
        blocks.append(f"{fence}upd\n{self.source}\n{fence}")
        return "\n\n".join(blocks) + "\n"


def _plain(text: str) -> str:
    """Escapes text for Markdown, including tables."""
    return "".join(c if c.isalnum() or c in " .,+-'" else f"&#{ord(c)};" for c in text)
