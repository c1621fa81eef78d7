"""Copies of modules whose parameters keep their autograd graph on other workers."""

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

    A `torch.nn.Parameter` loses its graph on the way to another worker. The tensors of the copy are
    computed from the parameters, so gradients flow back from other workers.

    Args:
        target: the module. Shared tensors are also shared in the copy.
        by: "reference": the tensors share the parameters' memory; "clone" or "copy": they have
            their own memory; "deepcopy": they are new leaves without a connection.
        detach_buffers: copies buffers without a graph. By default they are treated like parameters.
        device: the device of the tensors; None keeps it.

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
    # Copies the module's structure. `made` already has its tensors.
    return copy.deepcopy(target, made)
