"""The private names of torch that the package uses are in the installed torch."""

import ast
import importlib
import inspect
import pkgutil

import pytest

torch = pytest.importorskip("torch")

from updraft import torch_private  # noqa: E402
from updraft.torch_private import ATTRIBUTES, NAMES, OVERRIDDEN, READ_BY_TORCH, Attribute  # noqa: E402

from .installed_package import SOURCES  # noqa: E402

if not (torch.distributed.is_available() and torch.distributed.rpc.is_available()):
    pytest.skip("this torch has no RPC", allow_module_level=True)


def missing_names(names):
    """Returns the entries of `module:name.name` that torch lacks."""
    missing = []
    for name in names:
        try:
            pkgutil.resolve_name(name)
        except (AttributeError, ImportError):
            missing.append(name.replace(":", "."))
    return missing


def of_kind(kind):
    """Returns an object with the attributes of its kind."""
    param = torch.zeros(1)
    made = {
        "torch:Tensor": lambda: param,
        "torch.optim:Optimizer": lambda: torch.optim.SGD([param]),
        "torch.optim:LBFGS": lambda: torch.optim.LBFGS([param]),
        "torch.distributed.rpc.functions:async_execution": (
            lambda: torch.distributed.rpc.functions.async_execution(len)
        ),
    }
    return made[kind]() if kind in made else pkgutil.resolve_name(kind)


def missing_attributes(attributes):
    """Returns the attributes that torch's objects lack."""
    return [f"{of}.{name}" for of, name in attributes if not hasattr(of_kind(of), name)]


def unread_names(names):
    """Returns names that torch's modules don't mention, from a map of names to modules."""
    return [
        name
        for name, module in names.items()
        if name not in inspect.getsource(importlib.import_module(module))
    ]


def test_torch_has_every_name():
    missing = missing_names(NAMES.values())
    missing += missing_attributes([*ATTRIBUTES.values(), *OVERRIDDEN])
    assert not missing, f"torch {torch.__version__} lacks {', '.join(missing)}"


def test_torch_reads_what_classes_define():
    unread = unread_names(READ_BY_TORCH)
    assert not unread, f"torch {torch.__version__} doesn't read {', '.join(unread)}"


def test_missing_names_are_reported():
    assert missing_names(["torch:_disable_dynamo", "torch:_gone.away", "torch._gone:away"]) == [
        "torch._gone.away",
        "torch._gone.away",
    ]
    attributes = [Attribute("torch:Tensor", "_base"), Attribute("torch.optim:LBFGS", "_gone")]
    assert missing_attributes(attributes) == ["torch.optim:LBFGS._gone"]
    assert unread_names({"_gone": "torch.amp.grad_scaler"}) == ["_gone"]


def test_every_entry_is_used():
    """Functions are imported, also those that read an attribute; its name is looked up."""
    used = set()
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "torch_private":
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Constant) and path.name != "torch_private.py":
                used.add(node.value)
    assert {*NAMES, *ATTRIBUTES} <= used


def test_a_name_that_torch_lacks(monkeypatch):
    monkeypatch.setitem(NAMES, "gone", "torch.nn:_gone.away")
    with pytest.raises(ImportError) as caught:
        torch_private.gone  # noqa: B018
    assert str(caught.value) == (
        f"torch {torch.__version__} has no `torch.nn._gone.away`, which Updraft needs;"
        " `python -m updraft.info` names the versions that it was built for"
    )


def test_a_name_that_is_not_listed():
    with pytest.raises(AttributeError) as caught:
        torch_private.gone  # noqa: B018
    assert str(caught.value) == "module `updraft.torch_private` has no attribute `gone`"


def test_the_list_does_not_import_torch(run_python):
    program = "import sys, updraft.torch_private; print('torch' in sys.modules)"
    assert run_python(program) == "False"
