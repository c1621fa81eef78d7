"""The adapter's version of torch, and the error with another version."""

import pytest
import torch

from updraft import info
from updraft.optim import adapter


def version():
    return ".".join(torch.__version__.split(".")[:2])


def test_is_for_this_torch():
    assert version() in info.adapters()
    assert torch.ops.updraft.torch_version().split(".")[:2] == version().split(".")


def test_another_torch(monkeypatch):
    monkeypatch.setattr(torch, "__version__", "1.99.0+cpu")
    with pytest.raises(ImportError) as refused:
        adapter.load()
    versions = " and ".join(info.adapters())
    assert str(refused.value) == (
        f"this build of Updraft supports torch {versions}, but torch 1.99.0+cpu is installed; "
        "rebuild Updraft with this torch"
    )


def test_built_without_torch(monkeypatch, tmp_path):
    monkeypatch.setattr(info._updraft, "__file__", str(tmp_path / "_updraft.so"))
    with pytest.raises(ImportError) as refused:
        adapter.load()
    assert str(refused.value) == (
        f"this build of Updraft has no adapter for torch {torch.__version__}: it was built without "
        "torch; install torch, then `pip install --no-build-isolation --force-reinstall` Updraft"
    )


def test_a_library_that_does_not_load(monkeypatch, tmp_path):
    library = tmp_path / f"libupdraft_torch-{version()}.so"
    library.write_text("no library")
    monkeypatch.setattr(info._updraft, "__file__", str(tmp_path / "_updraft.so"))
    with pytest.raises(ImportError) as refused:
        adapter.load()
    text = str(refused.value)
    assert text.startswith(
        f"cannot load the adapter for torch {version()} with torch {torch.__version__}: "
    )
    assert str(library) in text
    assert text.endswith("; rebuild Updraft with this torch")
