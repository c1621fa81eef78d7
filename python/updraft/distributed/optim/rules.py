"""How what a distributed optimizer was given is stepped."""

import warnings
from collections.abc import Hashable, Sequence
from typing import Any

import torch

from ...optim.compiled import CompiledStep
from ...optim.correspondence import Group
from .compiled_parts import CompiledParts
from .eager_parts import EagerParts
from .functional import FunctionalOptimizer
from .kinds import maker
from .options import Options
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


def _has_one_rule(kind: Any) -> bool:
    """Whether a class steps all parameters by its rule alone, as Muon and LBFGS do not."""
    if not isinstance(kind, type):
        return True
    return (
        issubclass(kind, CompiledStep)
        and kind._correspondences is CompiledStep._correspondences
        and kind._make_buckets is CompiledStep._make_buckets
    )


def parts_of(
    given: Any, groups: Sequence[Group], args: Any, kwargs: Any, options: Options
) -> CompiledParts | EagerParts:
    """Returns how the parts of an optimizer are made and stepped.

    Warns where that is by Python on the workers.

    Raises:
        TypeError: there is no compiled rule for a class, and `options.strict` asks for one; or it
            is no optimizer at all.
    """
    try:
        kind = compiled_kind(given)
        if not _has_one_rule(kind):
            raise TypeError(f"{kind.__name__} does not step by one compiled rule")
    except TypeError as error:
        is_class = isinstance(given, type) and issubclass(given, torch.optim.Optimizer)
        if options.strict or not is_class:
            raise
        warnings.warn(
            f"{error}: steps of {given.__name__} run in Python on the workers, and wait for its "
            "lock; `Options(strict=True)` makes this an error",
            stacklevel=4,
        )
        if options.concurrency == "hogwild":
            warnings.warn(
                f'steps of {given.__name__} count versions of parameters, as "checked" ones do: '
                '"hogwild" is for compiled steps',
                stacklevel=4,
            )
        return EagerParts(given, groups, args, kwargs)
    return CompiledParts(kind, groups, args, kwargs, options.concurrency == "checked")
