"""The demo with few epochs: it succeeds, and writes the plot and every stage."""

import pathlib
import subprocess
import sys

import pytest

import updraft

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "demo" / "digits.py"


def run(tmp_path, *arguments):
    for module in ("matplotlib", "rich", "sklearn", "torch"):
        pytest.importorskip(module)
    command = [sys.executable, str(DIGITS), "--out", str(tmp_path / "out"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_digits(tmp_path):
    result = run(tmp_path, "--epochs", "3", "--elements", "100000", "--rounds", "2")
    assert result.returncode == 0, result.stdout + result.stderr
    for text in (
        "Loss curves over 135 steps",
        "test accuracy",
        "from the disk cache",
        "torch fused",
    ):
        assert text in result.stdout
    assert (tmp_path / "out" / "loss.png").read_bytes().startswith(b"\x89PNG")
    stages = sorted(path.name for path in (tmp_path / "out" / "ir").iterdir())
    assert [name.split("-")[1].split(".")[0] for name in stages] == list(
        updraft.CompiledRule.STAGES
    )


def test_digits_refuses_nonsense(tmp_path):
    result = run(tmp_path, "--epochs", "0")
    assert result.returncode == 2
    assert "at least 1" in result.stderr
