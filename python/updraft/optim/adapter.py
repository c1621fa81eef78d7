"""The C++ adapter for torch: `runtime/torch`, one shared library for each version of torch."""

from pathlib import Path

import torch

from .. import _updraft

_PACKAGE = Path(__file__).resolve().parent.parent
_LIBRARY = _PACKAGE / "libupdraft_torch.so"


def _other_version(built_for: str) -> ImportError:
    return ImportError(
        f"this build of Updraft is for torch {built_for}, and this is torch {torch.__version__}; "
        "build Updraft again beside this torch"
    )


def _load() -> None:
    if not _LIBRARY.exists():
        raise ImportError(
            f"this build of Updraft has no adapter for torch {torch.__version__}: there was no "
            "torch where it was built; install torch first, then `pip install --no-build-isolation "
            "--force-reinstall` Updraft"
        )
    try:
        torch.ops.load_library(_LIBRARY)
        built_for = torch.ops.updraft.torch_version()
    except OSError as error:
        raise _other_version(f"another version: {error}") from error
    if built_for.split(".")[:2] != torch.__version__.split(".")[:2]:
        raise _other_version(built_for)
    torch.ops.updraft.load_library(_updraft.__file__)


_load()
GroupStepper = torch.classes.updraft.GroupStepper
