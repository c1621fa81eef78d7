"""The C++ adapter for torch: `runtime/torch`, one shared library per version of torch."""

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import torch

from .. import _updraft
from ..info import adapter_path, adapters, other_torch, version_of


def load() -> ctypes.PyDLL:
    """Loads the adapter for this torch, and returns its library.

    Raises:
        ImportError: the adapter doesn't exist or can't be loaded.
    """
    version = version_of(torch.__version__)
    library = adapter_path(version)
    if not library.exists():
        versions = adapters()
        if versions:
            raise ImportError(other_torch(versions, torch.__version__))
        raise ImportError(
            f"this build of Updraft has no adapter for torch {torch.__version__}: it was built "
            "without torch; install torch, then `pip install --force-reinstall --no-deps .` in "
            "Updraft's folder"
        )
    try:
        torch.ops.load_library(library)
    except OSError as error:
        raise ImportError(
            f"cannot load the adapter for torch {version} with torch {torch.__version__}: "
            f"{error}; rebuild Updraft with this torch"
        ) from error
    torch.ops.updraft.load_library(_updraft.__file__)
    return ctypes.PyDLL(str(library))


_library = load()
GroupStepper = torch.classes.updraft.GroupStepper
StorageLocks = torch.classes.updraft.StorageLocks
#: Returns which listeners are told about operators, as bits that `listeners.py` names. This isn't
#: an operator itself, because every step calls it.
listeners: Callable[[], int] = _library.updraft_torch_listeners


_take_step = _library.updraft_torch_step
_take_step.argtypes = [ctypes.c_void_p]
#: Outcomes of a step; see `runtime/torch/JointStep.h`.
MOVED, REFUSED = 2, 3


class JointStep:
    """Takes one step with several steppers, or with none if one refuses.

    Attributes:
        take: takes the step, and returns its outcome. This is not a method, because calling a
            function of C directly takes a third of the time.
    """

    def __init__(self, steppers: list[Any]) -> None:
        self._steppers = torch.classes.updraft.JointStep(steppers)
        self.take: Callable[[], int] = functools.partial(_take_step, self._steppers.address())

    def raise_refusal(self) -> None:
        """Raises the error of the last step, whose outcome was `REFUSED`."""
        self._steppers.raise_refusal()
