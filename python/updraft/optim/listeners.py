"""Finds listeners of torch's operators, which a compiled step bypasses."""

import enum

from torch.autograd import forward_ad

from ..torch_private import DeviceContext, dual_level_of, function_modes
from .adapter import listeners

# The bits of `listeners`.
_PROFILERS, _FUNCTION_MODES, _DISPATCH_MODES, _TRANSFORMS = 1, 2, 4, 8
#: Listeners that see a step as one operator.
TOLD_OF_STEPS = _PROFILERS | _DISPATCH_MODES | _TRANSFORMS
#: Listeners that see the operators within a step.
TOLD_OF_OPERATORS = _FUNCTION_MODES | _DISPATCH_MODES | _TRANSFORMS


class Listening(enum.IntEnum):
    """The kind of listener to a thread's operators.

    Attributes:
        NONE: no listener, or only profilers, which see a step as one operator.
        MODES: a mode, such as one that counts operators.
        TRANSFORMS: a transform, such as tracing, batching (`vmap`) or forward-mode AD (`jvp`).
    """

    NONE = 0
    MODES = 1
    TRANSFORMS = 2


def _any_function_mode() -> bool:
    """Whether a function mode is active other than that of `with torch.device(…)`."""
    return any(type(mode) is not DeviceContext for mode in function_modes())


def in_dual_level() -> bool:
    """Whether operators may compute tangents by forward-mode AD."""
    level: int = dual_level_of(forward_ad)
    return level >= 0


def listening() -> Listening:
    """Returns the current kind of listener to this thread's operators."""
    found = listeners()
    if found & _TRANSFORMS or in_dual_level():
        return Listening.TRANSFORMS
    if found & _DISPATCH_MODES or (found & _FUNCTION_MODES and _any_function_mode()):
        return Listening.MODES
    return Listening.NONE
