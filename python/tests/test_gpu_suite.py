"""The GPU suite's peers, without a GPU: tensors on the CPU use the emulator."""

import importlib
import io
import json
import pathlib
import subprocess
import sys
import time

import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tools" / "updraft-gpu-suite" / "package"
LIBRARY = ROOT / "build" / "release" / "lib" / "libupdraft.so"
CPU = torch.device("cpu")


@pytest.fixture
def suite(monkeypatch):
    """Imports a module of the suite."""
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


class HostEvent:
    """Stands for a CUDA event; all work is done when a call returns."""

    def __init__(self, enable_timing):
        self.time = 0.0

    def record(self):
        self.time = time.perf_counter()

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return (end.time - self.time) * 1e3


def test_peers_take_turns(suite, monkeypatch, capsys):
    peers = suite("peers")
    monkeypatch.setattr(torch.cuda, "Event", HostEvent)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (1 << 30, 1 << 30))
    file = io.StringIO()
    peers.compare_and_measure(library(suite), CPU, True, peers.Recorder(file, has_figures=True))
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    results = {line["name"]: line for line in lines if "name" in line}
    assert {line["status"] for line in results.values()} == {"passed"}, capsys.readouterr().out
    times = results["adamw f32, 4096 elements"]["times"]
    assert {"updraft", "torch fused", "torch foreach"} <= set(times)
    assert set(times["updraft"]) == {"median_ms", "min_ms", "max_ms", "host_us"}
    # Triton can't run, and the others run without it.
    assert "triton" in results["adamw f32, 4096 elements"]["missing"]
    muon = results["muon f32, GPT-2's matrices"]["times"]
    assert set(muon) == {"updraft", "torch", "bf16", "f16"}
    product = results["product f32, 40 x 40 x 40"]["times"]
    assert set(product) == {"updraft", "cuBLAS", "bf16", "cuBLAS bf16", "f16", "cuBLAS f16"}
    assert product["updraft"]["tflops"] > 0
    figures = [line for line in lines if "figure" in line]
    assert len(figures) == 6
    assert all(figure["reached"] == (figure["value"] >= 1) for figure in figures)


def test_failures_are_results(suite):
    file = io.StringIO()
    recorder = suite("peers").Recorder(file, has_figures=True)
    assert recorder.run("breaks", lambda: {}["nothing"]) == {}
    line = json.loads(file.getvalue())
    assert (line["status"], line["reason"]) == ("failed", "KeyError: 'nothing'")


def test_resnet50_has_its_parameters(suite):
    shapes = suite("peers").resnet50()
    assert len(shapes) == 161
    assert sum(torch.Size(shape).numel() for shape in shapes) == 25_557_032


def test_gpt2_has_its_matrices(suite):
    shapes = suite("peers").gpt2()
    assert len(shapes) == 48
    assert sum(torch.Size(shape).numel() for shape in shapes) == 84_934_656


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
