"""The table of PyTorch's optimizer tests and our counterparts."""

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
REASON = re.compile(r"^(internals|hardware): \w")


def rows():
    """The cases of the table, with their counterparts or the reason for not having one."""
    found, heading = {}, ""
    for line in (FOLDER / "torch_cases.md").read_text().splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif match := re.fullmatch(r"\| `(\w+)` \| (.*) \|", line):
            name = f"{heading}.{match[1]}"
            assert name not in found
            found[name] = match[2]
    return found


def names_in(file):
    """The names of a file's tests, in pytest's form."""
    names = set()
    for node in ast.parse((FOLDER / file).read_text()).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            functions = (each for each in node.body if isinstance(each, ast.FunctionDef))
            names.update(f"{node.name}::{each.name}" for each in functions)
    return names


def test_every_case_has_a_row():
    listed = (FOLDER / "torch_case_names.txt").read_text().splitlines()
    assert len(listed) == len({*listed}) > 50
    assert {*rows()} == {*listed}


def test_every_counterpart_exists():
    for case, text in rows().items():
        if REASON.match(text):
            continue
        for counterpart in text.split(", "):
            match = re.fullmatch(r"`(\w+\.py)::([\w:]+)`", counterpart)
            assert match, f"{case}: {text}"
            assert match[2] in names_in(match[1]), f"{case}: {counterpart}"


def test_few_cases_have_no_counterpart():
    assert sum(bool(REASON.match(text)) for text in rows().values()) == 5
