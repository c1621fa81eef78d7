"""Checks of the ids of distributed-autograd contexts."""

from typing import Any

from ..torch_private import is_valid_context

_FIRST, _BEHIND_LAST = -(2**63), 2**63


def require_context(context_id: Any) -> None:
    """Checks that this is the id of an open context.

    Raises:
        TypeError: it is not an integer.
        RuntimeError: the context doesn't exist.
    """
    if isinstance(context_id, bool) or not isinstance(context_id, int):
        raise TypeError(f"`context_id` is {type(context_id)}; give the number of a context")
    if not _FIRST <= context_id < _BEHIND_LAST:
        # torch raises the same error for ids that it can represent.
        raise RuntimeError(f"Could not find autograd context with id: {context_id}")
    is_valid_context(context_id)
