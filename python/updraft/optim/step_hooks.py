"""Bypasses torch's wrappers of an optimizer's `step` if they would have no effect.

`torch.optim.Optimizer` wraps `step` to run hooks and to report it to profilers. Another wrapper
disables `torch.compile` in it. Together, the wrappers take longer than a step of a small parameter.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch

from ..torch_private import (
    disable_dynamo,
    eval_frame_callback,
    global_step_post_hooks,
    global_step_pre_hooks,
    step_post_hooks,
    step_pre_hooks,
)
from .adapter import listeners
from .listeners import TOLD_OF_STEPS


def has_hooks(optimizer: Any) -> bool:
    """Whether hooks run before or after an optimizer's step."""
    return bool(
        step_pre_hooks(optimizer)
        or step_post_hooks(optimizer)
        or global_step_pre_hooks
        or global_step_post_hooks
    )


def opaque(step: Callable[..., Any]) -> Callable[..., Any]:
    """Disables `torch.compile` in a step."""
    disabled = disable_dynamo(step)
    disabled.direct = step  # type: ignore[attr-defined]
    return disabled


def hooked(step: Callable[..., Any], takes_closure: bool = True) -> Callable[..., Any]:
    """Returns `step` with its hooks, like `torch.optim.Optimizer.profile_hook_step`.

    Args:
        takes_closure: whether `step` may have a closure as its argument.
    """
    wrapped = torch.optim.Optimizer.profile_hook_step(step)
    # `functools.wraps` copies `direct` to a function that wraps a step.
    is_opaque = getattr(step, "direct", step) is getattr(step, "__wrapped__", None)
    direct = step.direct if is_opaque else step  # type: ignore[attr-defined]

    @functools.wraps(step)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (
            # True in torch.compile, which then traces the same calls as with torch's classes.
            torch.compiler.is_dynamo_compiling()
            or eval_frame_callback() is not None
            # A closure may add hooks or start a profiler.
            or (takes_closure and (args or kwargs))
            or step_pre_hooks(self)
            or step_post_hooks(self)
            or global_step_pre_hooks
            or global_step_post_hooks
            or listeners() & TOLD_OF_STEPS
        ):
            return wrapped(self, *args, **kwargs)
        return direct(self, *args, **kwargs)

    return wrapper
