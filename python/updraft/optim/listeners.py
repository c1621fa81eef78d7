"""Which listeners torch's operators have. A compiled step calls no operators."""

import enum

from ..torch_private import DeviceContext, function_modes
from .adapter import listeners

# The bits of `listeners`.
_PROFILERS, _FUNCTION_MODES, _DISPATCH_MODES, _TRANSFORMS = 1, 2, 4, 8
#: Those that see a step as one operator.
TOLD_OF_STEPS = _PROFILERS | _DISPATCH_MODES | _TRANSFORMS
#: Those that see the operators that a step consists of.
TOLD_OF_OPERATORS = _FUNCTION_MODES | _DISPATCH_MODES | _TRANSFORMS


class Listening(enum.IntEnum):
    """Which kind of listener a thread's operators have.

    Attributes:
        NONE: none, or profilers, which see a step as one operator.
        MODES: modes, such as one that counts operators.
        TRANSFORMS: transforms, which make something else of operators, such as a graph or batches.
    """

    NONE = 0
    MODES = 1
    TRANSFORMS = 2


def _any_function_mode() -> bool:
    """Whether there is one that does more than choose the device of new tensors."""
    return any(type(mode) is not DeviceContext for mode in function_modes())


def listening() -> Listening:
    """Returns which kind of listener this thread's operators have now."""
    found = listeners()
    if found & _TRANSFORMS:
        return Listening.TRANSFORMS
    if found & _DISPATCH_MODES or (found & _FUNCTION_MODES and _any_function_mode()):
        return Listening.MODES
    return Listening.NONE
