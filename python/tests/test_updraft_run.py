"""Files of states pass from `updraft-run` to an optimizer and back."""

import pathlib
import subprocess

import pytest

import updraft

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors")
tensor_files = pytest.importorskip("safetensors.torch")

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "build" / "release" / "bin" / "updraft-run"
RULE = ROOT / "rules" / "adamw.upd"

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="the tools are not built")

STORAGE = [
    {},
    {"exp_avg": "q8_linear", "exp_avg_sq": "q8_companded"},
    {"exp_avg": "bf16_corrected", "exp_avg_sq": "f64"},
]


def run(before, after, steps, storage):
    options = [text for name, dtype in storage.items() for text in ("--storage", f"{name}={dtype}")]
    command = [TOOL, RULE, "--in", before, "--out", after, "--steps", str(steps), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(
    "storage", STORAGE, ids=lambda storage: "-".join(storage.values()) or "f32"
)
def test_files_go_both_ways(tmp_path, storage):
    rule = updraft.compile_file(RULE, storage=storage)

    def optimizer(param):
        return updraft.ArrayOptimizer(rule, [{"params": [param], "names": ["w"]}])

    generator = torch.Generator().manual_seed(0)
    start, grad = (torch.randn(3, 300, generator=generator) for _ in range(2))
    given = {"param/w": start, "grad/w": grad}
    tensor_files.save_file(given, tmp_path / "start")
    run(tmp_path / "start", tmp_path / "two", 2, storage)
    run(tmp_path / "start", tmp_path / "five", 5, storage)

    param = tensor_files.load_file(tmp_path / "two")["param/w"]
    resumed = optimizer(param)
    resumed.load(tmp_path / "two")
    for _ in range(3):
        resumed.step([grad])
    assert param.equal(tensor_files.load_file(tmp_path / "five")["param/w"])

    param = start.clone()
    stepped = optimizer(param)
    for _ in range(2):
        stepped.step([grad])
    stepped.save(tmp_path / "saved")
    with safetensors.safe_open(tmp_path / "saved", "pt") as file:
        metadata = file.metadata()
    states = tensor_files.load_file(tmp_path / "saved")
    tensor_files.save_file(given | states | {"param/w": param}, tmp_path / "next", metadata)
    run(tmp_path / "next", tmp_path / "after", 3, {})
    assert (tmp_path / "after").read_bytes() == (tmp_path / "five").read_bytes()
