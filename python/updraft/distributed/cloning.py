"""Copies of modules whose parameters have a graph, which goes with them to other workers."""

import copy
from collections.abc import Callable
from typing import Any, TypeVar

import torch

from ..errors import InvalidArgumentError

M = TypeVar("M", bound=torch.nn.Module)


def _view(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.view_as(tensor)


def _detached(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


_WAYS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "reference": _view,
    "ref": _view,
    "copy": torch.clone,
    "clone": torch.clone,
    "deepcopy": _detached,
    "deepclone": _detached,
}


def module_clone(
    target: M,
    *,
    by: str = "reference",
    detach_buffers: bool = False,
    device: torch.device | str | int | None = None,
) -> M:
    """Returns a copy of a module with tensors in place of its parameters.

    A `torch.nn.Parameter` arrives at another worker without its graph. The tensors of the copy are
    made of the parameters, so gradients flow from other workers back to these.

    Args:
        target: the module. Tensors that it has twice, the copy has twice.
        by: "reference": the tensors share the parameters' memory; "clone" or "copy": they have
            their own; "deepcopy": they are leaves of their own, to which nothing connects.
        detach_buffers: buffers are copied, and no graph leads to them. By default they are made
            like the parameters.
        device: where the tensors shall be; None for where they are.

    Example:
        >>> model = torch.nn.Linear(2, 1, bias=False)
        >>> copy = updraft.distributed.module_clone(model, by="clone")
        >>> copy(torch.ones(1, 2)).sum().backward()
        >>> model.weight.grad
        tensor([[1., 1.]])
    """
    if not isinstance(target, torch.nn.Module):
        raise TypeError(f"the target is of type `{type(target).__name__}`; give a module")
    if by not in _WAYS:
        raise InvalidArgumentError(
            f"`by` is `{by!r}`; it must be one of " + ", ".join(f"`{way!r}`" for way in _WAYS)
        )
    made: dict[int, Any] = {}
    for param in target.parameters():
        made[id(param)] = _WAYS[by](param)
    for buffer in target.buffers():
        made[id(buffer)] = buffer.detach().clone() if detach_buffers else _WAYS[by](buffer)
    if device is not None:
        made = {key: tensor.to(device) for key, tensor in made.items()}
    # A copy of the module's structure, which has its tensors already.
    return copy.deepcopy(target, made)
