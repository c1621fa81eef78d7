"""Compares the installed package with the repository's."""

import pathlib

import updraft

INSTALLED = pathlib.Path(updraft.__file__).parent
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SOURCES = REPOSITORY / "python" / "updraft"


def files(folder):
    """Returns the paths of the files below a folder, relative to it."""
    return {
        path.relative_to(folder)
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def changed_since_installation(sources=SOURCES, installed=INSTALLED):
    """Returns the modules that differ from the installed ones, as sorted relative paths."""

    def same(path):
        copy = installed / path
        return copy.is_file() and copy.read_bytes() == (sources / path).read_bytes()

    # Editors may keep their own files there.
    modules = (path for path in files(sources) if path.suffix in (".py", ".pyi"))
    return sorted(path for path in modules if not same(path))
