"""The C++ adapter for torch: `runtime/torch`, one shared library per version of torch."""

import ctypes
from collections.abc import Callable

import torch

from .. import _updraft
from ..info import adapter_path, adapters, other_torch


def load() -> ctypes.PyDLL:
    """Loads the adapter for this torch, and returns its library.

    Raises:
        ImportError: the adapter doesn't exist or can't be loaded.
    """
    version = ".".join(torch.__version__.split(".")[:2])
    library = adapter_path(version)
    if not library.exists():
        versions = adapters()
        if versions:
            raise ImportError(other_torch(versions, torch.__version__))
        raise ImportError(
            f"this build of Updraft has no adapter for torch {torch.__version__}: there was no "
            "torch where it was built; install torch first, then `pip install --no-build-isolation "
            "--force-reinstall` Updraft"
        )
    try:
        torch.ops.load_library(library)
    except OSError as error:
        raise ImportError(
            f"the adapter for torch {version} does not load with torch {torch.__version__}: "
            f"{error}; build Updraft again beside this torch"
        ) from error
    torch.ops.updraft.load_library(_updraft.__file__)
    return ctypes.PyDLL(str(library))


_library = load()
GroupStepper = torch.classes.updraft.GroupStepper
JointStep = torch.classes.updraft.JointStep
StorageLocks = torch.classes.updraft.StorageLocks
#: Returns which listeners are told about operators, as bits that `listeners.py` names. This isn't
#: an operator itself, because every step calls it.
listeners: Callable[[], int] = _library.updraft_torch_listeners
