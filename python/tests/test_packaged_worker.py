"""`python -m updraft.torch_worker`: the package's worker without Python."""

import os
import socket
import subprocess
import sys

import pytest
import torch

from updraft import info, torch_worker


def run(*arguments, **variables):
    command = [sys.executable, "-m", "updraft.torch_worker", *arguments]
    kept = {name: value for name, value in os.environ.items() if name != "UPDRAFT_LIBRARY"}
    return subprocess.run(
        command, env=kept | variables, capture_output=True, text=True, timeout=120
    )


def test_is_the_worker():
    found = run("--version")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == f"updraft-torch-worker for torch {torch.__version__.split('+')[0]}\n"


def test_has_all_that_it_loads():
    """A world of one begins and ends at once: the library is loaded, and the store is served."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        store = f"localhost:{free.getsockname()[1]}"
    found = run("--rank=0", "--world-size=1", f"--store={store}", TP_SOCKET_IFNAME="lo")
    assert (found.returncode, found.stdout) == (0, f"`worker0` serves, 0 of 1 at {store}\n"), (
        found.stderr
    )


def test_another_library(tmp_path):
    found = run("--rank=0", "--world-size=1", UPDRAFT_LIBRARY=str(tmp_path / "none.so"))
    assert found.returncode == 2
    assert f"cannot use `{tmp_path}/none.so` as Updraft's library" in found.stderr


@pytest.mark.parametrize(
    ("versions", "torch_version", "message"),
    [
        (
            [],
            "2.15.0",
            "this build of Updraft has no worker: it was built without torch; install torch, then "
            "`pip install --force-reinstall --no-deps .` in Updraft's folder",
        ),
        (["2.15"], None, "the worker needs torch 2.15, but torch is not installed"),
        (
            ["2.9", "2.15"],
            "2.11.0+cpu",
            "this build of Updraft supports torch 2.9 and 2.15, but torch 2.11.0+cpu is installed; "
            "rebuild Updraft with this torch",
        ),
    ],
)
def test_an_unusable_torch_is_an_error(monkeypatch, capsys, versions, torch_version, message):
    monkeypatch.setattr(torch_worker, "adapters", lambda: versions)
    monkeypatch.setattr(torch_worker, "installed", lambda name: torch_version)
    assert torch_worker.main() == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_versions_are_in_order(monkeypatch, tmp_path):
    for name in ("2.9", "2.15", "2.11"):
        (tmp_path / f"libupdraft_torch-{name}.so").touch()
    monkeypatch.setattr(info._updraft, "__file__", str(tmp_path / "_updraft.so"))
    assert info.adapters() == ["2.9", "2.11", "2.15"]
