"""A check that no parameter is given twice."""

from collections.abc import Hashable, Iterable


def require_distinct(keys: Iterable[Hashable]) -> None:
    """Refuses duplicate parameters.

    Args:
        keys: a key that identifies each parameter.

    Raises:
        ValueError: two are equal. The message has their indices.
    """
    indices: dict[Hashable, int] = {}
    for index, key in enumerate(keys):
        first = indices.setdefault(key, index)
        if first != index:
            raise ValueError(f"parameters {first} and {index} are the same")
