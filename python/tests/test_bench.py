"""`updraft-bench python` with small sizes: all kinds of works run. Times aren't checked."""

import json
import os
import pathlib
import subprocess
import sys
import xml.dom.minidom

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "build" / "release" / "bin" / "updraft-bench"

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason="the tools are not built")


def run(*arguments):
    command = [TOOL, "--quick", "--torch", sys.executable, *arguments]
    # Threads would wait for each other if other programs run, as in tests.
    environment = os.environ | {"UPDRAFT_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)


STEPS = ["python-adamw-1x50M", "python-adamw-10000x64-fresh", "python-adamw-1x1"]
# Includes torch.compile.
COMPILED = "python-rmsprop-160x160k"
PROCESSES = ["python-import", "python-first-step", "python-memory"]
DISTRIBUTED = "distributed-adagrad-50x10k"
MATRICES = ["matrices-product-1-thread", "matrices-muon-small"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The output and the folder of written files for all works. Runs the tool only once, because it
    starts interpreters that import torch.
    """
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("bench")
    files = "--json", folder / "rows.json", "--svg", folder / "rows.svg"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UPDRAFT_CACHE_DIR", str(folder / "cache"))
        result = run(*files, *STEPS, COMPILED, *PROCESSES, DISTRIBUTED, *MATRICES)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout, folder


@pytest.fixture
def rows(measured):
    return json.loads((measured[1] / "rows.json").read_text())


def of_work(rows, work):
    return [row for row in rows if row["work"] == f"quick:{work}"]


def implementations(rows, work):
    return [row["impl"] for row in of_work(rows, work)]


def test_every_row_is_printed_and_every_peer_drawn(measured, rows):
    shown, folder = measured
    printed = [line.split() for line in shown.splitlines()]
    picture = xml.dom.minidom.parse(str(folder / "rows.svg"))
    drawn = [node.firstChild.data for node in picture.getElementsByTagName("text")]
    for row in rows:
        words = [row["work"], *row["impl"].split()]
        assert any(words == line[: len(words)] for line in printed)
        peer = row.get("figure", {}).get("is") == "x as long as updraft"
        assert not peer or f"{row['work']} {row['impl']}" in drawn


def test_steps(rows):
    works = STEPS
    peers = ["torch for-loop", "torch foreach", "torch fused"]
    direct = ["C ABI", "over C ABI"]
    assert [name for name in implementations(rows, works[0]) if name != "optax"] == [
        "updraft",
        "limit",
        *peers,
        *direct,
    ]
    assert implementations(rows, works[1]) == ["updraft", *peers]
    assert [name for name in implementations(rows, works[2]) if name != "optax"] == [
        "updraft",
        *peers,
        *direct,
    ]
    for row in (row for work in works for row in of_work(rows, work)):
        assert row["impl"] == "over C ABI" or 0 < row["min_ms"] <= row["median_ms"]
        if row["impl"] in peers:
            assert row["figure"]["is"] == "x as long as updraft"
            assert row["figure"]["value"] > 0


def test_torch_compile_is_a_peer(rows):
    names = implementations(rows, COMPILED)
    assert [name for name in names if name != "optax"] == [
        "updraft",
        "torch for-loop",
        "torch foreach",
        "torch.compile",
    ]


def test_bounds_are_shown(measured, rows):
    shown, _ = measured
    (imported,) = of_work(rows, "python-import")
    figure = imported["figure"]
    assert figure["at_most"] == 150
    assert figure["reached"] == (figure["value"] <= 150)
    assert f"ms without torch, at most 150: {'reached' if figure['reached'] else 'missed'}" in shown
    (first,) = of_work(rows, "python-first-step")
    assert first["figure"]["at_most"] == pytest.approx(30 + 3e-3 * 4)
    memory = {row["impl"]: row["figure"]["value"] for row in of_work(rows, "python-memory")}
    # torch's foreach implementation allocates temporaries of the parameter's size.
    assert memory["torch AdamW"] > 0.5 > memory["updraft AdamW"]


def test_a_python_without_torch_is_an_error(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    command = [TOOL, "--quick", "--torch", python, "python-adamw-1x1"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert "error: the Python peer failed at `hello`: no answer" in result.stderr


def test_products_of_matrices(rows):
    product, muon = (of_work(rows, work) for work in MATRICES)
    assert [(row["impl"], row["figure"]["is"]) for row in product] == [
        ("two products", "of the FMA peak"),
        ("symmetric first", "of a general product, the symmetric one"),
        ("FMA peak", "GFLOP/s"),
    ]
    implementations_of_muon = ["updraft", "torch in f32", "torch", "products at FMA peak"]
    assert implementations(rows, MATRICES[1]) == implementations_of_muon
    assert all(row["figure"]["value"] > 0 for row in [*product, *muon[1:]])


def test_distributed_steps(rows):
    usual = [
        "updraft",
        "torch functional",
        "torch eager",
        "empty call",
        "updraft, 1 spinning",
        "empty, 1 spinning",
        "updraft, 3 spinning",
        "empty, 3 spinning",
        "best, 1 spinning",
        "best, 3 spinning",
    ]
    assert implementations(rows, DISTRIBUTED) == [*usual, *(f"{name}, uv" for name in usual)]
