"""Finds the compiled optimizer for a class or a rule."""

import functools
import os
from typing import Any

from ...definition import RuleDefinition
from ...optim.compiled import CompiledStep
from ...optim.conversion import counterpart
from ...torch_optimizer import optimizer


def maker(given: Any) -> Any:
    """Returns a function that makes a compiled optimizer from parameters and options.

    Raises:
        TypeError: `given` is neither a class nor a rule, or a class without a compiled counterpart.
    """
    if isinstance(given, RuleDefinition | str | os.PathLike):
        return functools.partial(optimizer, given)
    if isinstance(given, type) and issubclass(given, CompiledStep):
        return given
    if isinstance(given, type):
        return counterpart(given)
    raise TypeError(f"the optimizer is {given!r}; give a class, or a rule")
