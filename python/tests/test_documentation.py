"""The examples in docstrings work, and the stub knows what the extension module has."""

import ast
import doctest
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest
import torch

import updraft
import updraft.optim
from updraft import (
    _updraft,
    array_optimizer,
    compiler,
    definition,
    dtypes,
    info,
    shipped,
    torch_optimizer,
)

# `updraft.chain` is the function.
MODULES = [
    compiler,
    dtypes,
    info,
    array_optimizer,
    torch_optimizer,
    definition,
    shipped,
    sys.modules["updraft.chain"],
    sys.modules["updraft.tracing.rule"],
    sys.modules["updraft.optim.conversion"],
]

PACKAGE = pathlib.Path(updraft.__file__).parent


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_examples(module):
    failed, attempted = doctest.testmod(module)
    assert attempted > 0
    assert failed == 0


@pytest.fixture
def one_thread():
    """Small networks train faster on one, where others run beside it."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SHOWN = {"python.md": 2, "tutorials/first_rule.md": 4, "tutorials/qhm.md": 2}


@pytest.mark.parametrize("name", SHOWN)
def test_the_page_works(name, tmp_path, monkeypatch, capsys, one_thread):
    """Its examples run, and what they print is what the page shows below them."""
    monkeypatch.chdir(tmp_path)
    page = DOCS / name
    text = page.read_text()
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert len(blocks) >= 3
    names = {}
    shown = 0
    for block in blocks:
        above = text.count("\n", 0, block.start(1))
        exec(compile("\n" * above + block[1], str(page), "exec"), names)
        # The page is not where it says, nor are its lines.
        printed = re.sub(rf"\S*{page.name}:\d+:", f"{page.name}:4:", capsys.readouterr().out)
        if printed:
            shown += 1
            assert text[block.end() :].split("```")[1].partition("\n")[2] == printed
    assert shown == SHOWN[name]
    # Pictures are what the page draws, up to the last digits of a computation.
    for picture in tmp_path.glob("*.svg"):
        drawn, committed = (folder / picture.name for folder in (tmp_path, page.parent))
        assert labels(drawn) == labels(committed)


def labels(picture):
    """The words in a picture."""
    return [
        text
        for element in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")
        if (text := "".join(element.itertext())).isalpha() or " " in text
    ]


def test_everything_public_is_documented():
    for name in updraft.__all__:
        thing = getattr(updraft, name)
        if not callable(thing):
            continue
        assert thing.__doc__, name
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
