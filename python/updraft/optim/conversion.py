"""Conversion of torch's optimizers to compiled ones, and back."""

import sys
from typing import Any

import torch

from ..torch_private import ATTRIBUTES
from .compiled import CompiledStep
from .lbfgs import LBFGS
from .matrix_views import MatrixView

# Attributes that a copy by pickle lacks.
_KEPT = [
    ATTRIBUTES[name].name
    for name in (
        "lbfgs_params",
        "lbfgs_numel",
        "step_pre_hooks",
        "step_post_hooks",
        "save_pre_hooks",
        "save_post_hooks",
        "load_pre_hooks",
        "load_post_hooks",
    )
]


def counterpart(kind: type) -> type[torch.optim.Optimizer]:
    """Returns the compiled class for one of torch, or torch's class for a compiled one.

    Raises:
        TypeError: there is no counterpart.
    """
    if issubclass(kind, CompiledStep | LBFGS):
        for base in kind.__mro__:
            if getattr(torch.optim, base.__name__, None) is base is not torch.optim.Optimizer:
                return base
        if kind.__name__ == "RuleOptimizer":
            raise TypeError(
                "torch has no counterpart of `RuleOptimizer`; only classes of `updraft.optim` can "
                "have one"
            )
        raise TypeError(f"torch has no optimizer `{kind.__name__}`")
    compiled = vars(sys.modules[__package__]).get(kind.__name__)
    # A subclass of torch's class may step differently.
    if compiled is None or kind is not getattr(torch.optim, kind.__name__, None):
        raise TypeError(
            f"there is no compiled step for {kind.__module__}.{kind.__qualname__}; "
            "`updraft.optimizer` makes one from a rule"
        )
    return compiled


def convert(optimizer: torch.optim.Optimizer) -> torch.optim.Optimizer:
    """Converts an optimizer of torch to the compiled one, or a compiled one to torch's.

    The returned optimizer takes over the parameters, groups, states and hooks without copying.
    Don't use the given one any more, and create schedulers after the conversion.

    Raises:
        TypeError: the optimizer has no counterpart.

    >>> import torch
    >>> adam = torch.optim.Adam([torch.nn.Parameter(torch.ones(3))], lr=0.1)
    >>> convert(adam).param_groups[0]["lr"]
    0.1
    >>> type(convert(convert(adam))) is torch.optim.Adam
    True
    """
    kind = type(optimizer)
    target = counterpart(kind)
    # A subclass may step differently.
    if counterpart(target) is not kind:
        raise TypeError(
            f"`{kind.__name__}` is a subclass of an optimizer of `updraft.optim`, and torch has no "
            "counterpart; convert an optimizer of the class itself"
        )
    if getattr(optimizer, "max_grad_norm", None) is not None:
        raise TypeError(
            f"`{type(optimizer).__name__}` clips gradients, but torch's class does not; set its "
            "`max_grad_norm` to None first"
        )
    shapes = [param.shape for group in optimizer.param_groups for param in group["params"]]
    if target is torch.optim.Muon and any(len(shape) != 2 for shape in shapes):
        raise TypeError("torch's `Muon` takes only parameters of two dimensions")
    splits = any(MatrixView.of(group) is not None for group in optimizer.param_groups)
    if splits and issubclass(kind, CompiledStep):
        raise TypeError(
            f"a group of `{kind.__name__}` has `matrix_blocks` or `matrix_layout`, but torch's "
            "class steps whole parameters; convert an optimizer without them"
        )
    state = optimizer.__getstate__()
    # torch's class has no compilation choices.
    choices = state.pop("choices", {})
    if choices.get("storage"):
        raise TypeError(
            f"`{type(optimizer).__name__}` was made with `storage`, and torch's class cannot read "
            "such states; convert an optimizer without `storage`"
        )
    converted: Any = object.__new__(target)
    converted.__setstate__(state)
    for name in _KEPT:
        if hasattr(optimizer, name):
            setattr(converted, name, getattr(optimizer, name))
    return converted
