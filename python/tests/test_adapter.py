"""The adapter's version of torch, and the error with another version."""

import subprocess
import sys

import pytest
import torch

from updraft import info, torch_presence
from updraft.optim import adapter


def version():
    return ".".join(torch.__version__.split(".")[:2])


def test_is_for_this_torch():
    assert version() in info.adapters()
    assert torch.ops.updraft.torch_version().split(".")[:2] == version().split(".")


def test_another_torch(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "1.99.0+cpu")
    with pytest.raises(ImportError) as refused:
        adapter.load()
    versions = info.all_of(info.adapters())
    assert str(refused.value) == (
        f"this build of Updraft supports torch {versions}, but torch 1.99.0+cpu is installed; "
        "rebuild Updraft with this torch"
    )


def test_built_without_torch(monkeypatch, tmp_path):
    monkeypatch.setattr(info._updraft, "__file__", str(tmp_path / "_updraft.so"))
    with pytest.raises(ImportError) as refused:
        adapter.load()
    assert str(refused.value) == (
        f"this build of Updraft has no adapter for torch {torch.__version__}: it was built without "
        "torch; install torch, then `pip install --force-reinstall --no-deps .` in Updraft's folder"
    )


def test_a_library_that_does_not_load(monkeypatch, tmp_path):
    library = tmp_path / f"libupdraft_torch-{version()}.so"
    library.write_text("no library")
    monkeypatch.setattr(info._updraft, "__file__", str(tmp_path / "_updraft.so"))
    with pytest.raises(ImportError) as refused:
        adapter.load()
    text = str(refused.value)
    assert text.startswith(
        f"cannot load the adapter for torch {version()} with torch {torch.__version__}: "
    )
    assert str(library) in text
    assert text.endswith("; rebuild Updraft with this torch")


#: Makes torch unknown, as where it is not installed. numpy stays.
WITHOUT_TORCH = """
import importlib.util
import sys

class Without:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")

sys.meta_path.insert(0, Without)
found = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "torch" else found(name)
"""


def run_without_torch(program):
    command = [sys.executable, "-c", WITHOUT_TORCH + program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_arrays_need_no_torch():
    found = run_without_torch(
        """
import numpy, updraft
weights = numpy.ones(3, numpy.float32)
rule = updraft.load("SGD").compile()
updraft.ArrayOptimizer(rule, [weights], lr=0.5).step([numpy.ones(3, numpy.float32)])
print(weights.tolist())
"""
    )
    assert (found.stdout, found.stderr) == ("[0.5, 0.5, 0.5]\n", "")


def test_clients_of_parameter_servers_need_no_torch():
    found = run_without_torch("from updraft.distributed.grpc import Client; Client(['unix:/none'])")
    assert found.stderr == ""


@pytest.mark.parametrize(
    "name", ["optim import AdamW", "distributed import barrier", "optim.adapter import *"]
)
def test_no_torch(name):
    found = run_without_torch(f"from updraft.{name}")
    assert found.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: `updraft.optim` and `updraft.distributed` need torch, which is not "
        f"installed; this build of Updraft supports torch {info.all_of(info.adapters())}; "
        "`updraft.ArrayOptimizer` needs only numpy"
    )


def test_neither_torch_nor_adapter(monkeypatch):
    monkeypatch.setattr(torch_presence, "adapters", lambda: [])
    monkeypatch.setattr(torch_presence, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError) as refused:
        torch_presence.require_torch()
    assert str(refused.value) == (
        "`updraft.optim` and `updraft.distributed` need torch, which is not installed; install "
        "torch, then `pip install --force-reinstall --no-deps .` in Updraft's folder; "
        "`updraft.ArrayOptimizer` "
        "needs only numpy"
    )
    assert refused.value.name == "torch"
