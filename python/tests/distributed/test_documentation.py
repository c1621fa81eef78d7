"""Runs the page as a program, and the examples in docstrings."""

import doctest
import importlib
import inspect
import pathlib
import pkgutil
import re

import pytest
import torch

import updraft
from updraft import distributed
from updraft.distributed import optim as distributed_optim

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "distributed.md"
MODULES = [
    module.name for module in pkgutil.walk_packages(distributed.__path__, "updraft.distributed.")
]
PACKAGES = [distributed, distributed_optim]
PUBLIC = [(package, name) for package in PACKAGES for name in package.__all__]


def test_the_page(torchrun, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 7
    program = tmp_path / "page.py"
    # `main` reports that it has reached its end.
    program.write_text("\n".join(blocks) + "    print('done')\n")
    ran = torchrun(3, str(program))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines().count("done") == 3


@pytest.mark.parametrize("name", MODULES)
def test_examples(name, in_world):
    module = importlib.import_module(name)
    names = {"updraft": updraft, "torch": torch}
    results = in_world(lambda: doctest.testmod(module, extraglobs=names))
    assert results.failed == 0
    has_examples = ">>>" in inspect.getsource(module)
    assert bool(results.attempted) == has_examples


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_everything_public_is_documented(package, name):
    """Everything that takes nontrivial arguments has an example."""
    thing = getattr(package, name)
    assert thing.__doc__
    assert ("Args:" in thing.__doc__) <= (">>>" in thing.__doc__)
    if isinstance(thing, type):
        for member, value in vars(thing).items():
            if not member.startswith("_") and callable(value):
                assert value.__doc__, member


@pytest.mark.parametrize(("package", "name"), PUBLIC)
def test_the_page_names_everything(package, name):
    page = PAGE.read_text()
    code = re.findall(r"^```.*?^```|`[^`\n]+`", page, re.MULTILINE | re.DOTALL)
    assert any(re.search(rf"\b{name}\b", piece) for piece in code)
