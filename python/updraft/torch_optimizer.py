"""Creates optimizers of torch, and imports torch only then."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .definition import RuleDefinition
from .loading import definition_of
from .shipped import require_name

if TYPE_CHECKING:
    from .optim.rule_optimizer import RuleOptimizer
    from .optim.torch_class import TorchClass


def optimizer(
    rule: RuleDefinition | str | os.PathLike[str],
    params: Iterable[Any],
    *,
    storage: Mapping[str, Any] | None = None,
    numerics: str | None = None,
    seed: int | None = None,
    probes: Sequence[str] = (),
    probe_every: int = 1,
    **options: Any,
) -> "RuleOptimizer | TorchClass":
    """Creates a `torch.optim.Optimizer` from a rule.

    For the name of a rule of the package, returns an instance of the class in `updraft.optim`:
    `optimizer("AdamW", …)` is `updraft.optim.AdamW(…)`.

    Args:
        rule: a function with `@updraft.rule`, a chain, the name of a rule of the package, or a
            file.
        params: tensors, or dicts with parameter groups, as in `torch.optim`.
        storage: storage types of states by name: `{"exp_avg": "q8_linear"}`. The name "state" means
            all states. The default is the parameter's type.
        numerics: "ieee", "torch" or "fast". The default is "torch" if `rule` is the name of a class
            that `torch.optim` also has, else "ieee".
        seed: the seed of random numbers, from 0 to 2^64 - 1. The default is 0. It is an entry of
            `param_groups`.
        probes: numbers that steps report for each parameter: "update_ratio", or
            "ratio = norm(new_param - param) / norm(param)"; see `updraft.compile`. The optimizer's
            `probe_values()` returns them.
        probe_every: 1 probes each step, 20 every 20th, 0 none.
        **options: hyperparameters and static flags, which groups may override. They are entries of
            `param_groups`. Hyperparameters may be changed there at any time.

    Raises:
        InvalidArgumentError: the rule doesn't have an option, or refuses its value.
        TypeError: the class doesn't have an option.

    Warns:
        UserWarning: a group has an unknown entry that looks like an option.

    >>> import torch, updraft
    >>> model = torch.nn.Linear(3, 1)
    >>> lion = updraft.optimizer("Lion", model.parameters(), lr=1e-4)
    >>> type(lion) is updraft.optim.Lion
    True
    >>> lion.param_groups[0]["betas"]
    (0.9, 0.99)
    """
    if numerics is not None:
        options["numerics"] = numerics
    if isinstance(rule, str) and rule.isidentifier():
        import inspect

        from . import optim
        from .shipped_constructor import bound

        kind: Any = getattr(optim, require_name(rule))
        options |= {
            "storage": storage,
            "seed": seed,
            "probes": probes,
            "probe_every": probe_every,
        }
        return kind(**bound(kind.__name__, inspect.signature(kind), params, **options))  # type: ignore[no-any-return]
    from .optim.rule_optimizer import RuleOptimizer

    return RuleOptimizer(
        definition_of(rule),
        params,
        storage=storage,
        seed=seed,
        probes=probes,
        probe_every=probe_every,
        **options,
    )
