"""What `tools/build` installs: the package as the repository has it, and nothing else."""

import pathlib

import updraft

INSTALLED = pathlib.Path(updraft.__file__).parent
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
STANDARD_LIBRARY = {"std", "transforms"}


def files(folder):
    return {
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_every_module_is_installed_and_no_other():
    binaries = {path.relative_to(INSTALLED) for path in INSTALLED.glob("*.so*")}
    binaries |= {path.relative_to(INSTALLED) for path in INSTALLED.glob("bin/*")}
    rules = {path for path in files(REPOSITORY / "rules") if path.parts[0] not in STANDARD_LIBRARY}
    expected = files(REPOSITORY / "python" / "updraft")
    expected |= {"rules" / path for path in rules if path.suffix == ".upd"}
    expected |= binaries | {pathlib.Path("optim/__init__.pyi")}
    assert files(INSTALLED) == expected
    assert len(binaries) == 4  # the module, the C API, the adapter for torch, and the worker
