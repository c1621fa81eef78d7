"""The convergence demo, shortened: every rule takes part and follows its counterpart."""

import json
import pathlib
import subprocess
import sys
import xml.dom.minidom

import pytest

from .conftest import RULES

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "demo" / "convergence.py"
FIRST_LOSSES = 1e-4
# A factor of the digits' gradients has many equal eigenvalues, whose eigenvectors are any basis in
# SOAP, and an inverse root in Shampoo that magnifies rounding errors. PSGD-PRO's counterpart draws
# other numbers.
FIRST_LOSSES_OF = {"psgd_pro": 1e-2, "shampoo": 5e-3, "soap": 1e-1}


def run(tmp_path, *arguments):
    for module in ("matplotlib", "sklearn", "torch"):
        pytest.importorskip(module)
    command = [sys.executable, str(SCRIPT), "--out", str(tmp_path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_one_epoch_of_every_rule(tmp_path):
    result = run(tmp_path, "--epochs", "1", "--seeds", "1", "--tolerance", "1")
    assert result.returncode == 0, result.stdout + result.stderr
    rows = json.loads((tmp_path / "convergence.json").read_text())
    assert {row["rule"] for row in rows} == {path.stem for path in RULES.glob("*.upd")}
    for row in rows:
        assert 10 < row["accuracy"] <= 100, row
        if not row["storage"]:
            bound = FIRST_LOSSES_OF.get(row["rule"], FIRST_LOSSES)
            assert row["first_epoch_loss_difference"] < bound, row
            if row["rule"] not in FIRST_LOSSES_OF:
                assert row["accuracy"] >= row["counterpart_accuracy"] - 0.5, row
    table = (tmp_path / "convergence.md").read_text()
    plot = (tmp_path / "convergence.svg").read_text()
    xml.dom.minidom.parseString(plot)
    for row in rows:
        assert f"| {row['name']} |" in table
        assert row["name"] in plot


def test_the_language_model(tmp_path):
    """A few steps with every optimizer lower the loss on unseen text."""
    script = SCRIPT.with_name("character_model.py")
    arguments = ["--steps", "10", "--seeds", "1", "--out", str(tmp_path)]
    command = [sys.executable, str(script), *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    rows = json.loads((tmp_path / "character_model.json").read_text())
    assert [row["name"] for row in rows] == ["AdamW", "Muon + AdamW", "NorMuon + AdamW", "SOAP"]
    table = (tmp_path / "character_model.md").read_text()
    xml.dom.minidom.parse(str(tmp_path / "character_model.svg"))
    for row in rows:
        (losses,) = row["losses"]
        assert losses[-1] < losses[0]
        assert f"| {row['name']} | {row['rate']:g} | {losses[-1]:.4f} | 0.0000 |" in table


def test_unknown_optimizers_are_refused(tmp_path):
    command = [sys.executable, str(SCRIPT.with_name("character_model.py")), "--optimizers", "Muon"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert result.returncode == 2
    assert "unknown optimizer Muon; there are AdamW, Muon + AdamW" in result.stderr


def test_unknown_rules_are_refused(tmp_path):
    result = run(tmp_path, "--rules", "nonsense")
    assert result.returncode == 2
    assert "there is no rule nonsense" in result.stderr
