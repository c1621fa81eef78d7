"""The GPU suite's peers, as far as they need no GPU: tensors of the CPU are the emulator's."""

import importlib
import json
import pathlib
import subprocess
import sys

import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tools" / "updraft-gpu-suite" / "package"
LIBRARY = ROOT / "build" / "release" / "lib" / "libupdraft.so"
CPU = torch.device("cpu")


@pytest.fixture
def suite(monkeypatch):
    """Imports a module of the suite's."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    yield importlib.import_module
    for name in ("peers", "triton_adamw", "updraft_library"):
        sys.modules.pop(name, None)


def library(suite):
    if not LIBRARY.is_file():
        pytest.skip(f"{LIBRARY} is not built")
    return suite("updraft_library").Library(str(LIBRARY), str(ROOT / "rules"))


@pytest.mark.parametrize("index", range(3))
def test_small_works_agree_with_torch(suite, index):
    peers = suite("peers")
    work = peers.works(quick=True)[index]
    assert peers.agrees(work, library(suite), CPU) == {}


def test_disagreement_is_seen(suite, monkeypatch):
    peers = suite("peers")
    work = peers.works(quick=True)[2]
    loaded = library(suite)
    monkeypatch.setattr(peers, "torch_step", lambda *_, **__: lambda: None)
    with pytest.raises(AssertionError, match="not close"):
        peers.agrees(work, loaded, CPU)


def test_lr_is_read_from_a_tensor(suite):
    param, lr = torch.ones(3), torch.tensor(0.25)
    loaded = library(suite)
    optimizer = suite("updraft_library").Optimizer(loaded, "sgd", [param], [torch.ones(3)])
    optimizer.read_lr(lr)
    optimizer.step()
    lr.fill_(0.5)
    optimizer.step()
    assert param.tolist() == [0.25] * 3


def test_the_library_says_what_is_wrong(suite):
    module = suite("updraft_library")
    with pytest.raises(module.UpdraftError, match=r"no_such_rule\.upd"):
        module.Optimizer(library(suite), "no_such_rule", [torch.ones(3)], [torch.ones(3)])


def test_resnet50_has_its_parameters(suite):
    shapes = suite("peers").resnet50()
    assert len(shapes) == 161
    assert sum(torch.Size(shape).numel() for shape in shapes) == 25_557_032


def test_triton_kernel_is_adamw(tmp_path):
    pytest.importorskip("triton")
    script = f"""
import sys
sys.path.insert(0, {str(PACKAGE)!r})
import torch
from triton_adamw import TritonAdamW
params = [torch.randn(1500), torch.randn(3, 7)]
grads = [torch.randn_like(param) * 0.01 for param in params]
others = [param.clone().requires_grad_() for param in params]
for param, grad in zip(others, grads):
    param.grad = grad
ours, theirs = TritonAdamW(params, grads), torch.optim.AdamW(others, fused=True)
for _ in range(5):
    ours.step()
    theirs.step()
for param, other in zip(params, others):
    torch.testing.assert_close(param, other.detach(), rtol=1e-6, atol=1e-7)
"""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env={"TRITON_INTERPRET": "1", "HOME": str(tmp_path)},
        check=True,
    )


@pytest.mark.parametrize(
    ("flags", "reason"), [(["-I", "-S"], "has no torch"), ([], "finds no GPU")]
)
def test_peers_are_skipped_with_the_reason(tmp_path, flags, reason):
    if reason == "finds no GPU" and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    lines = tmp_path / "lines"
    command = [sys.executable, *flags, PACKAGE / "peers.py", "--library=none", "--rules=none"]
    subprocess.run([*command, f"--lines={lines}"], check=True, stdout=subprocess.DEVNULL)
    (line,) = map(json.loads, lines.read_text().splitlines())
    assert line["status"] == "skipped"
    assert reason in line["reason"]
