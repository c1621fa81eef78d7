"""Prints the table of docs/rules.md from the rule files; with --write, puts it into the page."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "rules.md"
HEADING = "| rule | source | hyperparameters and `static` flags | states |\n|---|---|---|---|\n"


def collapse(text):
    return re.sub(r"\s+", " ", text).strip()


def parse(path):
    """Returns a rule's name, source, parameters and states, as written in its file."""
    text = path.read_text()
    comment = re.match(r"(?://.*\n)+", text)[0]
    paragraph = collapse(re.sub(r"^// ?", "", comment.split("\n//\n")[0], flags=re.M))
    code = text[len(comment) :]
    # Up to the parenthesis that closes the list; defaults may contain parentheses.
    name, rest = re.match(r"\s*rule (\w+)\((.*)", code, flags=re.S).groups()
    depth, end = 1, 0
    while depth:
        depth += {"(": 1, ")": -1}.get(rest[end], 0)
        end += 1
    states = re.findall(r"^  state (.*?)\s*=", code, flags=re.M)
    return name, paragraph, collapse(rest[: end - 1]), [collapse(state) for state in states]


def table():
    rows = []
    for path in sorted((ROOT / "rules").glob("*.upd")):
        name, source, parameters, states = parse(path)
        listed = ", ".join(f"`{state}`" for state in states) or "none"
        rows.append(f"| [{name}](../rules/{path.name}) | {source} | `{parameters}` | {listed} |\n")
    return HEADING + "".join(rows)


def split_page():
    """Returns the page's text before the table, the table, and the text after it."""
    text = PAGE.read_text()
    start = text.index(HEADING)
    end = text.index("\n\n", start) + 1
    return text[:start], text[start:end], text[end:]


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        before, _, after = split_page()
        PAGE.write_text(before + table() + after)
    else:
        print(table(), end="")
