"""Chooses how a distributed optimizer steps a class or a rule."""

import inspect
import logging
from collections.abc import Hashable, Sequence
from typing import Any

import torch

from ...caller_warnings import warn_caller
from ...optim.compiled import CompiledStep
from ...optim.correspondence import Group
from ...optim.split import SplitStep
from ...shipped import require_name
from .compiled_execution import CompiledExecution, template_of
from .eager_execution import EagerExecution
from .execution import Execution
from .functional import FunctionalOptimizer
from .kinds import maker
from .options import Options
from .registry import functional_optim_map

_log = logging.getLogger(__name__)
#: The methods of classes that make nothing but compiled rules, with some numerics.
_OF_ONE_RULE = (CompiledStep._make_layer, SplitStep._make_layer)


def registered(given: Any) -> Any:
    """Returns the registered entry for a class, or else the class."""
    return functional_optim_map.get(given, given) if isinstance(given, Hashable) else given


def compiled_kind(given: Any) -> Any:
    """Returns a function that makes a compiled optimizer from parameters and options.

    Raises:
        TypeError: the class or rule has no compiled rule.
    """
    chosen = registered(given)
    if _is_ours(chosen):
        if chosen.step is not FunctionalOptimizer.step:
            raise TypeError(f"{chosen.__name__} has a `step` of its own")
        if chosen.__init__ is not FunctionalOptimizer.__init__:
            raise TypeError(f"{chosen.__name__} has an `__init__` of its own")
        chosen = chosen.optimizer_class
    return maker(chosen)


def _is_ours(chosen: Any) -> bool:
    """Whether this is a subclass of Updraft's functional optimizer."""
    return isinstance(chosen, type) and issubclass(chosen, FunctionalOptimizer)


def _class_named(given: Any) -> Any:
    """Returns the class for the name of a rule of the package; None for anything else."""
    if not isinstance(given, str) or not given.isidentifier():
        return None
    from ... import optim

    return getattr(optim, require_name(given))


def _why_not_compiled(template: CompiledStep) -> str | None:
    """Returns why an optimizer doesn't step all parameters by its rule alone; None if it does."""
    kind = type(template)
    if inspect.unwrap(kind.step) is not inspect.unwrap(CompiledStep.step):
        return f"{kind.__name__} has a `step` of its own"
    if kind._make_layer not in _OF_ONE_RULE:
        return f"{kind.__name__} does not step by one compiled rule"
    if any(len(template._correspondences(group)) > 1 for group in template.param_groups):
        return (
            f'{kind.__name__} with the numerics "torch" calls functions of torch; the numerics '
            '"ieee" and "fast" are one compiled rule'
        )
    return None


def execution_of(
    given: Any, groups: Sequence[Group], args: Any, kwargs: Any, options: Options
) -> Execution:
    """Returns how workers step a class or a rule.

    Warns if they step in Python, and logs if another class is used instead.

    Raises:
        TypeError: a class has no compiled rule and `options.strict` is set, or it isn't an
            optimizer.
        ValueError: there are probes.
    """
    named = _class_named(given)
    if named is not None:
        given = named
        if kwargs.get("numerics", "") is None:
            # The default of the class, as for `updraft.optimizer`.
            kwargs = {name: value for name, value in kwargs.items() if name != "numerics"}
    try:
        kind = compiled_kind(given)
        if isinstance(kind, type) and not issubclass(kind, CompiledStep):
            raise TypeError(f"{kind.__name__} does not step by one compiled rule")
    except TypeError as error:
        return _in_python(error, given, groups, args, kwargs, options)
    if kwargs.get("probes"):
        raise ValueError(
            "DistributedOptimizer takes no `probes`, because those of steps on workers can't be "
            "read; an optimizer in the parameters' own process takes them, and `updraft-worker` "
            "reports those that a rule declares"
        )
    template = template_of(kind, groups, args, kwargs)
    reason = _why_not_compiled(template)
    if reason is not None:
        return _in_python(TypeError(reason), given, groups, args, kwargs, options)
    if isinstance(given, type) and isinstance(kind, type) and kind is not given:
        _log.info("%s is stepped by %s", _full_name(given), _full_name(kind))
    return CompiledExecution(template, options.concurrency == "checked")


def _in_python(
    refusal: TypeError,
    given: Any,
    groups: Sequence[Group],
    args: Any,
    kwargs: Any,
    options: Options,
) -> Execution:
    """Returns steps in Python, with a warning, of a class that can't be compiled.

    Raises:
        TypeError: `refusal`, if `options.strict` is set or this isn't an optimizer.
    """
    chosen = registered(given)
    is_functional = _is_ours(chosen) or (chosen is not given and hasattr(chosen, "step"))
    if not is_functional:
        chosen = given
    is_class = isinstance(chosen, type) and (
        is_functional or issubclass(chosen, torch.optim.Optimizer)
    )
    if options.strict or not is_class:
        raise refusal
    _warn(str(refusal), chosen.__name__, options)
    return EagerExecution(chosen, groups, args, kwargs, is_functional)


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _warn(reason: str, name: str, options: Options) -> None:
    warn_caller(
        f"{reason}: steps of {name} run in Python on the workers, and need the GIL; "
        "`Options(strict=True)` makes this an error"
    )
    if options.concurrency == "hogwild":
        warn_caller(
            f'"hogwild" needs compiled steps; steps of {name} count versions of parameters, as in '
            '"checked"'
        )
