"""Functions that run on some workers only."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from .world import checked_rank, get_world_rank

F = TypeVar("F", bound=Callable[..., Any])


def _selecting(chosen: Callable[[int], bool]) -> Callable[[F], F]:
    def decorator(func: F) -> F:
        @functools.wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return func(*args, **kwargs) if chosen(get_world_rank()) else None

        return cast(F, wrapper)

    return decorator


def on_rank(*ranks: int) -> Callable[[F], F]:
    """Returns a decorator for a function that only the workers `ranks` run.

    On the others it returns None. Each call looks up the worker's rank.

    Example:
        >>> @updraft.distributed.on_rank(0, 2)
        ... def greet():
        ...     return "hello"
        >>> greet()  # as worker 0
        'hello'
    """
    selected = frozenset(checked_rank(rank, "rank") for rank in ranks)
    return _selecting(lambda rank: rank in selected)


def not_on_rank(*ranks: int) -> Callable[[F], F]:
    """Returns a decorator for a function that all workers except `ranks` run.

    On `ranks` it returns None.
    """
    excluded = frozenset(checked_rank(rank, "rank") for rank in ranks)
    return _selecting(lambda rank: rank not in excluded)


def rank_zero_only(func: F) -> F:
    """Decorates a function that only worker 0 runs; on the others it returns None."""
    return on_rank(0)(func)


def rank_non_zero_only(func: F) -> F:
    """Decorates a function that all workers except worker 0 run; there it returns None."""
    return not_on_rank(0)(func)


def rank_all(func: F) -> F:
    """Decorates a function that every worker runs: returns it unchanged."""
    return func
