"""The files that `tools/build` installs: those of the repository, and nothing else."""

import pathlib

from .installed_package import INSTALLED, REPOSITORY, changed_since_installation, files

STANDARD_LIBRARY = {"std", "transforms"}


def test_every_module_is_installed_and_no_other():
    binaries = {path.relative_to(INSTALLED) for path in INSTALLED.glob("*.so*")}
    binaries |= {path.relative_to(INSTALLED) for path in INSTALLED.glob("bin/*/*")}
    rules = {path for path in files(REPOSITORY / "rules") if path.parts[0] not in STANDARD_LIBRARY}
    expected = files(REPOSITORY / "python" / "updraft")
    expected |= {"rules" / path for path in rules if path.suffix == ".upd"}
    messages = ("worker_pb2.py", "worker_pb2.pyi", "worker_pb2_grpc.py")
    expected |= {pathlib.Path("worker", "v1", name) for name in messages}
    expected |= binaries | {pathlib.Path("optim/__init__.pyi")}
    assert files(INSTALLED) == expected
    assert len(binaries) == 4  # the module, the C API, the adapter for torch, and the worker


def test_changes_since_the_installation_are_found(tmp_path):
    sources, installed = tmp_path / "sources", tmp_path / "installed"
    for folder in (sources, installed):
        (folder / "optim").mkdir(parents=True)
        for name in ("same.py", "optim/changed.py"):
            (folder / name).write_text("x = 1\n")
    (sources / ".same.py.swp").write_text("of an editor")
    assert changed_since_installation(sources, installed) == []
    (sources / "optim" / "changed.py").write_text("x = 2\n")
    (sources / "added.py").write_text("")
    found = changed_since_installation(sources, installed)
    assert found == [pathlib.Path("added.py"), pathlib.Path("optim/changed.py")]
