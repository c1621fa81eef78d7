"""The examples in docstrings work, and the stub matches the extension module."""

import ast
import doctest
import importlib
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy
import pytest

import updraft
import updraft.optim
from updraft import _updraft

PACKAGE = pathlib.Path(updraft.__file__).parent


def modules_with_examples():
    """The modules with examples in their docstrings. Generated ones have separate tests."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        # `distributed` needs a world, and has a separate test with one.
        if "distributed" in parts:
            continue
        nodes = ast.walk(ast.parse(path.read_text()))
        documented = ast.Module | ast.ClassDef | ast.FunctionDef
        texts = [ast.get_docstring(node) for node in nodes if isinstance(node, documented)]
        if any(">>>" in text for text in texts if text):
            yield ".".join(part for part in parts if part != "__init__")


@pytest.mark.parametrize("name", [*modules_with_examples()])
def test_examples(name):
    failed, attempted = doctest.testmod(importlib.import_module(name))
    assert attempted > 0
    assert failed == 0


ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SHOWN = {
    "gpu.md": 1,
    "how-to/compiler-stages.md": 1,
    "how-to/faster-training.md": 1,
    "matrices.md": 1,
    "numerics.md": 0,
    "probes.md": 3,
    "python.md": 2,
    "reports.md": 0,
    "rules.md": 0,
    "timeline.md": 0,
    "tutorials/first_rule.md": 4,
    "tutorials/first_steps.md": 5,
    "tutorials/qhm.md": 2,
}


def test_the_readme_works(tmp_path, monkeypatch):
    """README's rule compiles, and its examples step numpy arrays."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rule = re.search(r"^```text\n(rule .*?)^```", text, re.MULTILINE | re.DOTALL)
    examples = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert rule
    monkeypatch.chdir(tmp_path)
    pathlib.Path("sgd.upd").write_text(rule[1], encoding="utf-8")
    names = {"updraft": updraft}
    for name in ("weights", "bias", "weights_grad", "bias_grad"):
        names[name] = numpy.ones(3, "f4")
    for example in examples:
        exec(example, names)
    assert names["weights"] == pytest.approx(0.9)
    assert names["AdamW"] is updraft.optim.AdamW


@pytest.mark.parametrize("name", SHOWN)
def test_the_page_works(name, tmp_path):
    """Its examples run, and their output is shown on the page.

    In a separate process, because one example starts a world of several workers.
    """
    page = DOCS / name
    program = pathlib.Path(__file__).with_name("page.py")
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(program), str(page)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        # Small networks train faster on one thread if other programs run.
        env=os.environ | {"OMP_NUM_THREADS": "1", "TP_SOCKET_IFNAME": "lo"},
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == f"{SHOWN[name]}\n"
    # The page's pictures must be equal, except the last digits of a computation.
    for picture in tmp_path.glob("*.svg"):
        drawn, committed = (folder / picture.name for folder in (tmp_path, page.parent))
        assert labels(drawn) == labels(committed)


# Blocks in these languages are examples that work. Others are commands with places and names that
# the reader replaces, outputs, and excerpts.
EXAMPLES = re.compile(r"^ *```(python|console|c|cpp|cmake|upd|mlir)$", re.MULTILINE)
TESTS = ("python/tests/**/*.py", "test/**/*.test", "unittests/**/*Tests.cpp", "tools/lint/run-long")


def test_every_page_with_examples_has_a_test():
    tests = "\n".join(
        path.read_text(errors="replace") for tests in TESTS for path in ROOT.glob(tests)
    )
    pages = [page for page in DOCS.rglob("*.md") if EXAMPLES.search(page.read_text())]
    assert len(pages) > 20
    for page in pages:
        name = page.relative_to(DOCS).as_posix()
        assert re.search(rf"(docs/|[\"\s]){re.escape(name)}", tests), name


def labels(picture):
    """The words in a picture."""
    return [
        text
        for element in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")
        if (text := "".join(element.itertext())).isalpha() or " " in text
    ]


def test_the_tests_that_coverage_names_are_there():
    """Files in this folder, and functions in them, by name."""
    text = (DOCS / "coverage.md").read_text()
    named = re.findall(r"((?:\w+/)?test_\w+\.py)(?:::(test_\w+))?", text)
    assert len(named) > 80
    files = [*pathlib.Path(__file__).resolve().parent.rglob("test_*.py")]
    for name, function in named:
        found = [file for file in files if f"/{file}".endswith(f"/{name}")]
        assert found, name
        defined = f"\ndef {function}("
        assert not function or any(defined in file.read_text() for file in found), function


def test_everything_public_is_documented():
    for name in updraft.__all__:
        thing = getattr(updraft, name)
        if not callable(thing):
            continue
        assert thing.__doc__, name
        assert ("Args:" in thing.__doc__) <= (">>>" in thing.__doc__), name
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            if not member.startswith("_"):
                assert value.__doc__, f"{name}.{member}"


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.parametrize("name", ["Rule", "Optimizer"])
def test_stub_matches_the_module(name):
    tree = ast.parse((PACKAGE / "_updraft.pyi").read_text())
    (stub,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    declared = {
        node.name if isinstance(node, ast.FunctionDef) else node.target.id for node in stub.body
    }
    present = {member for member in vars(getattr(_updraft, name)) if not member.startswith("__")}
    assert declared - {"__init__"} == present
