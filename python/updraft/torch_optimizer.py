"""Making an optimizer of torch, which is imported only then."""

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .definition import RuleDefinition, definition_of

if TYPE_CHECKING:
    from .optim.rule_optimizer import RuleOptimizer


def optimizer(
    rule: RuleDefinition | str | os.PathLike[str],
    params: Iterable[Any],
    *,
    storage: Mapping[str, Any] | None = None,
    numerics: str = "ieee",
    seed: int | None = None,
    **options: Any,
) -> "RuleOptimizer":
    """Makes a `torch.optim.Optimizer` of a rule.

    Args:
        rule: a function with `@updraft.rule`, a chain, a rule of the package by its name, or a
            file.
        params: tensors, or dicts that define parameter groups, as in `torch.optim`.
        storage: storage types of states, or of all of them by "state", where they are not stored
            like the parameter: `{"exp_avg": "q8_linear"}`.
        numerics: "ieee", "torch" or "fast".
        seed: of random numbers, from 0 to 2^64 - 1; 0 without it. An entry of `param_groups`.
        **options: hyperparameters and static flags, which a group may also have for itself. They
            are entries of `param_groups`; those of hyperparameters may be changed at any time.

    Raises:
        InvalidArgumentError: the rule has no such option, or refuses its value.

    Warns:
        UserWarning: a group has an entry that looks like an option and is none.

    >>> import torch, updraft
    >>> model = torch.nn.Linear(3, 1)
    >>> lion = updraft.optimizer("Lion", model.parameters(), lr=1e-4)
    >>> lion.param_groups[0]["beta1"]
    0.9
    """
    from .optim.rule_optimizer import RuleOptimizer

    return RuleOptimizer(
        definition_of(rule), params, storage=storage, numerics=numerics, seed=seed, **options
    )
