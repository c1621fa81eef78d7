"""Which compiled rule stands for what a distributed optimizer was given."""

from collections.abc import Hashable
from typing import Any

from .functional import FunctionalOptimizer
from .kinds import maker
from .registry import functional_optim_map


def compiled_kind(given: Any) -> Any:
    """Returns what makes a compiled optimizer of parameters and options, for a class or a rule.

    Raises:
        TypeError: there is no compiled rule for it.
    """
    chosen = functional_optim_map.get(given, given) if isinstance(given, Hashable) else given
    if isinstance(chosen, type) and issubclass(chosen, FunctionalOptimizer):
        chosen = chosen.optimizer_class
    return maker(chosen)
