"""Warnings that name the line of a program that led to them."""

import sys
import warnings

# What lies between the program and a warning: calls of this package, and wrappers of torch.
_BETWEEN = {"updraft", "torch", "contextlib"}


def warn_caller(text: str) -> None:
    """Warns at the innermost line that is neither in this package nor in torch."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
