"""Classes of `updraft.optim` in editors, type checkers and `help`."""

import ast
import doctest
import inspect
import math
import pathlib
import pydoc
import re
import subprocess
import sys

import pytest

import updraft
from updraft import optim

from .torch_training import OLDER

FUNCTIONS = ["convert", "for_model", "with_clipping"]
OF_TORCH = sorted({*optim.__all__} - {*FUNCTIONS})
OF_RULES = sorted({*updraft.shipped_rules()} - {*OF_TORCH})


@pytest.fixture(scope="module")
def stub():
    """The statements of the installed stub."""
    return ast.parse(pathlib.Path(optim.__file__).with_suffix(".pyi").read_text()).body


def test_stub_has_every_class(stub):
    taken = [alias for node in stub if isinstance(node, ast.ImportFrom) for alias in node.names]
    names = {alias.name for alias in taken if alias.name == alias.asname}
    assert names == {"LBFGS", *FUNCTIONS, "ShippedOptimizer"}
    assert {node.name for node in stub if isinstance(node, ast.ClassDef)} == {
        *updraft.shipped_rules()
    }


@pytest.mark.parametrize("name", updraft.shipped_rules())
def test_stub_is_that_of_the_rules(name, stub):
    if OLDER and name in OF_TORCH:
        pytest.skip("the stub has the constructors of the newest torch")
    (cls,) = (node for node in stub if isinstance(node, ast.ClassDef) and node.name == name)
    (constructor,) = (node for node in cls.body if isinstance(node, ast.FunctionDef))
    arguments = constructor.args
    declared = {}
    defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
    for each, default in [
        *zip(arguments.args, defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]:
        declared[each.arg] = ast.literal_eval(default) if default else inspect.Parameter.empty
    assert declared.pop("self") is inspect.Parameter.empty
    signature = inspect.signature(getattr(optim, name)).parameters
    assert declared.keys() == signature.keys()
    for parameter in signature.values():
        default = declared[parameter.name]
        # A default without a literal in Python is omitted.
        assert default == parameter.default or (default is ... and parameter.default == math.inf)
        named = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert named == any(each.arg == parameter.name for each in arguments.kwonlyargs)
    source = ast.get_docstring(cls).partition("\n\n")[0]
    assert " ".join(source.split()) in " ".join(getattr(optim, name).__doc__.split())


@pytest.mark.parametrize("name", [*OF_TORCH, *OF_RULES])
def test_docstring(name):
    """Its example works, and it describes all arguments."""
    cls = getattr(optim, name)
    text = inspect.getdoc(cls)
    (test,) = doctest.DocTestFinder(recurse=False).find(cls, name, globs={})
    arguments = text.partition("\nArgs:\n")[2].partition("\nShape:\n")[0]
    described = re.findall(r"^    (\w+)(?: \(.*\))? ?:", arguments.replace("\n        ", " "), re.M)
    assert described
    parameters = set(inspect.signature(cls).parameters)
    assert parameters <= set(described)
    assert "\nRaises:\n    ValueError: unless `" in text
    # The equation for the parameter, from every rule's file.
    assert re.search(r"^  +[pyx]'? +=|^  p'", text, re.M)
    # The source of the rule.
    assert re.search(r"\b(19|20)\d\d\b", text)
    results = doctest.DocTestRunner().run(test)
    assert results.attempted > 3
    assert results.failed == 0


@pytest.mark.parametrize("name", [*OF_TORCH, *OF_RULES])
def test_help(name):
    assert name in pydoc.render_doc(getattr(optim, name))


def test_shapes_of_states():
    (shapes,) = re.findall(r"^Shape:\n((?:    .*\n)+)", optim.SOAP.__doc__, re.M)
    assert "    `exp_avg`, `exp_avg_sq`: the parameter's.\n" in shapes
    assert "    `Q_left`: a square matrix for each matrix, [..., rows, rows].\n" in shapes
    assert "    `Q_right`: a square matrix for each matrix, [..., columns, columns].\n" in shapes


@pytest.mark.parametrize("name", FUNCTIONS)
def test_examples_of_functions(name):
    function = getattr(optim, name)
    (test,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={name: function})
    results = doctest.DocTestRunner().run(test)
    assert results.attempted > 3
    assert results.failed == 0


def test_classes_that_are_derived_have_their_own_docstring():
    class Own(optim.AdamW):
        """Own."""

    assert Own.__doc__ == "Own."
    assert optim.AdamW.__doc__.startswith("`torch.optim.AdamW`, compiled from `rules/adamw.upd`.")


PROGRAM = """
import torch
import updraft
from updraft.optim import AdamW, Lion, ShippedOptimizer, convert

model = torch.nn.Linear(3, 2)
lion = Lion(model.parameters(), lr=1e-4, betas=(0.9, torch.tensor(0.99)), maximize=True)
adam = AdamW(model.parameters(), lr=1e-3, fused=True, numerics="ieee")
any_rule: torch.optim.Optimizer = updraft.optimizer("LAMB", model.parameters(), lr=1e-3)
shipped: ShippedOptimizer = lion
reveal_type(lion)
reveal_type(adam)
reveal_type(convert(adam))
reveal_type(updraft.load("Lion").hypers)
"""

MISTAKES = """
from updraft.optim import AdamW, Lion, Lyon

AdamW([], learning_rate=1e-4)
AdamW([], fused="yes")
AdamW([], numerics="exact")
Lion([], learning_rate=1e-4)
Lion([], betas=(0.9,))
Lion([], numerics="exact")
"""


@pytest.fixture
def check(tmp_path):
    """Returns mypy's output for a program. Checking all of torch would take a minute."""

    def run(program, *arguments):
        (tmp_path / "mypy.ini").write_text(
            "[mypy]\n[mypy-torch.*]\nfollow_imports = skip\n[mypy-torch]\nfollow_imports = skip\n"
            # They have their types in packages of their own.
            "[mypy-grpc.*]\nignore_missing_imports = true\n"
            "[mypy-google.protobuf.*]\nignore_missing_imports = true\n"
        )
        (tmp_path / "program.py").write_text(program)
        ran = subprocess.run(
            [sys.executable, "-m", "mypy", *(arguments or ["program.py"])],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        return ran.stdout

    return run


def test_types(check):
    said = check(PROGRAM)
    assert "Success: no issues found" in said
    assert re.findall(r'Revealed type is "(.*)"', said) == [
        "updraft.optim.Lion",
        "updraft.optim.AdamW",
        "Any",  # torch isn't checked
        "dict[str, float]",
    ]


def test_types_show_mistakes(check):
    said = check(MISTAKES)
    for expected in (
        'has no attribute "Lyon"',
        'Unexpected keyword argument "learning_rate" for "AdamW"',
        'Argument "fused" to "AdamW" has incompatible type',
        'Argument "numerics" to "AdamW" has incompatible type',
        'Unexpected keyword argument "learning_rate" for "Lion"',
        'Argument "betas" to "Lion" has incompatible type "tuple[float]"',
        'Argument "numerics" to "Lion" has incompatible type',
    ):
        assert expected in said, said


def test_the_package_passes(check):
    assert "Success: no issues found" in check("", "-p", "updraft")


def test_the_table_of_classes():
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
    rows = re.findall(
        r"^\| `(\w+)` \| (.*) \| (yes|no|only) \| (yes|no) \|$", page.read_text(), re.M
    )
    assert sorted(row[0] for row in rows) == OF_TORCH
    for name, states, sparse, pairs in rows:
        if name == "LBFGS":
            continue
        correspondence = getattr(optim, name).correspondence
        assert re.findall(r"`(\w+)`", states) == [*correspondence.states]
        taken = not isinstance(correspondence.sparse, str)
        assert sparse == ("only" if correspondence.dense else "yes" if taken else "no")
        assert pairs == ("no" if correspondence.complex else "yes")
