"""Clipping by the global gradient norm, as part of a compiled step."""

from typing import TypeVar

import torch

from ..errors import UnsupportedError
from .clipping import require_max_norm
from .compiled import CompiledStep
from .lbfgs import LBFGS

Optimizer = TypeVar("Optimizer", bound=torch.optim.Optimizer)


def with_clipping(
    optimizer: Optimizer, max_norm: float, *, error_if_nonfinite: bool = False
) -> Optimizer:
    """Makes an optimizer of this package clip gradients by their norm, as part of its step.

    This is equivalent to calling `torch.nn.utils.clip_grad_norm_` before each step, with the norm
    of the gradients of all parameters of the optimizer. But `.grad` isn't written: one sweep reads
    the gradients, and the step scales them as it reads them. With a `torch.amp.GradScaler`, the
    norm is that of the unscaled gradients.

    `optimizer.max_grad_norm` may be changed at any time; None disables clipping.
    `optimizer.last_grad_norm` is the norm before clipping in the last step. `state_dict` contains
    neither.

    The step reads the norm as a number. So clipping is refused with `differentiable=True`, and
    while torch traces or transforms its operators.

    Args:
        optimizer: an optimizer of this package.
        max_norm: the maximum norm after clipping.
        error_if_nonfinite: raises an error if the norm is infinite or NaN, as in torch.

    Returns:
        The optimizer that was given.

    Raises:
        TypeError: the optimizer isn't one of this package, or `max_norm` isn't a number.
        InvalidArgumentError: `max_norm` is negative or NaN.
        UnsupportedError: the optimizer is `LBFGS`, or steps a rule of a package.

    >>> import torch
    >>> from updraft import optim
    >>> param = torch.nn.Parameter(torch.zeros(2))
    >>> optimizer = optim.with_clipping(optim.SGD([param], lr=1.0), max_norm=0.5)
    >>> param.grad = torch.tensor([3.0, 4.0])
    >>> optimizer.step()
    >>> param.detach()
    tensor([-0.3000, -0.4000])
    >>> optimizer.last_grad_norm
    tensor(5.)
    """
    by_hand = "call `torch.nn.utils.clip_grad_norm_` before"
    if isinstance(optimizer, LBFGS):
        raise UnsupportedError(
            "`LBFGS` can't clip, because its step computes gradients several times; "
            f"{by_hand} the closure returns"
        )
    if not isinstance(optimizer, CompiledStep):
        raise TypeError(
            "expected an optimizer of `updraft.optim` or `updraft.optimizer`, got "
            f"{type(optimizer).__module__}.{type(optimizer).__qualname__}"
        )
    require_max_norm(max_norm)
    if optimizer._is_packaged:
        raise UnsupportedError(
            f"a rule of a package can't clip, because its code doesn't scale gradients; {by_hand} "
            "each step, or load the rule from its text"
        )
    optimizer.max_grad_norm = float(max_norm)
    optimizer.error_if_nonfinite = error_if_nonfinite
    return optimizer  # type: ignore[return-value]
