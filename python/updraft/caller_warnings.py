"""Warnings at the line of the program that caused them."""

import sys
import warnings

# Modules that may lie between the program and a warning: this package, and wrappers of torch.
_BETWEEN = {"updraft", "torch", "contextlib"}


def warn_caller(text: str) -> None:
    """Warns at the innermost line outside of this package and torch."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
