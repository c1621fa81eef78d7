"""Tensors and modules within lists, tuples, dicts and other containers that torch knows."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..torch_private import pytree


def map_tensors(change: Callable[[torch.Tensor], torch.Tensor], tree: Any) -> Any:
    """Returns the same containers with `change` applied to every tensor."""
    return pytree.tree_map_only(torch.Tensor, change, tree)


def leaves_with_places(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the leaves of containers, each with its place: "argument 1['x']"."""
    for path, leaf in pytree.tree_flatten_with_path((args, kwargs))[0]:
        of, first, *rest = path
        name = f"argument {first.idx}" if of.idx == 0 else f"argument `{first.key}`"
        yield name + pytree.keystr(tuple(rest)), leaf


def tensors_with_places(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[tuple[str, torch.Tensor]]:
    """Yields the tensors in containers, each with its place."""
    for place, leaf in leaves_with_places(args, kwargs):
        if isinstance(leaf, torch.Tensor):
            yield place, leaf
