"""The page works as the program that it is, and so do the examples in docstrings."""

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

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "distributed.md"
# Those of other folders have tests of their own.
MODULES = [
    f"updraft.distributed.{module.name}"
    for module in pkgutil.iter_modules(distributed.__path__)
    if not module.ispkg
]


def test_the_page(torchrun, tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) > 7
    program = tmp_path / "page.py"
    # `main` says that it has come to its end.
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


def test_everything_public_is_documented():
    for name in distributed.__all__:
        thing = getattr(distributed, name)
        assert thing.__doc__, name
        if isinstance(thing, type):
            for member, value in vars(thing).items():
                if not member.startswith("_") and callable(value):
                    assert value.__doc__, f"{name}.{member}"


def test_the_page_names_everything():
    text = PAGE.read_text()
    assert [name for name in distributed.__all__ if name not in text] == []
