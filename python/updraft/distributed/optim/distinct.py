"""No parameter twice."""

from collections.abc import Hashable, Iterable


def require_distinct(keys: Iterable[Hashable]) -> None:
    """Refuses parameters of which two are the same.

    Args:
        keys: what tells each parameter from others.

    Raises:
        ValueError: two are the same, by their indices.
    """
    indices: dict[Hashable, int] = {}
    for index, key in enumerate(keys):
        first = indices.setdefault(key, index)
        if first != index:
            raise ValueError(f"parameters {first} and {index} are the same")
