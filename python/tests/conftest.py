"""Shared by the tests: small rules, and a separate cache."""

import pathlib
import subprocess
import sys

import pytest

import updraft

from .installed_package import changed_since_installation

RULES = pathlib.Path(__file__).resolve().parents[2] / "rules"

# To import `published`.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

SGD = "rule SGD(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }"

MOMENTUM = """
rule Momentum(lr = 0.1, mu = 0.9)
  require lr >= 0 else "Invalid learning rate: {lr}"
{
  state velocity = 0
  update(param, grad) {
    let v = mu * velocity + grad
    next velocity = v
    next param = param - lr * v
  }
}
"""


def pytest_configure():
    """Refuses an outdated installation: tests of it would not test the repository."""
    if changed := changed_since_installation():
        raise pytest.UsageError(
            "the installed package is older than python/updraft: "
            f"{', '.join(map(str, changed))}; run tools/build first"
        )


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Tests neither read nor fill the user's cache."""
    monkeypatch.setenv("UPDRAFT_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "updraft-cache"))


@pytest.fixture
def sgd():
    return updraft.compile(SGD)


@pytest.fixture
def momentum():
    return updraft.compile(MOMENTUM)


@pytest.fixture
def adamw():
    return updraft.compile_file(RULES / "adamw.upd")


@pytest.fixture
def torch_with_rounded_root(monkeypatch):
    """Replaces torch's square root, which is off by one place on some machines."""
    import numpy
    import torch

    def rounded_root(tensor):
        return torch.from_numpy(numpy.asarray(numpy.sqrt(tensor.numpy())))

    monkeypatch.setattr(torch.Tensor, "sqrt", rounded_root)
    monkeypatch.setattr(torch.Tensor, "sqrt_", lambda tensor: tensor.copy_(rounded_root(tensor)))


@pytest.fixture
def run_python(tmp_path):
    """Runs a program in a fresh interpreter; returns what it printed."""

    def run(program):
        file = tmp_path / "program.py"
        file.write_text(program)
        result = subprocess.run(
            [sys.executable, str(file)],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout.strip()

    return run
