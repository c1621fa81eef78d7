"""Seeds of random numbers."""

import operator
from typing import Any

from .errors import InvalidArgumentError


def require_seed(value: Any) -> int:
    """Returns a seed as an integer.

    Raises:
        TypeError: it isn't an integer.
        InvalidArgumentError: it isn't between 0 and 2^64 - 1.
    """
    try:
        seed = operator.index(value)
    except TypeError:
        raise TypeError(f"the seed is {type(value)}; give an integer") from None
    if not 0 <= seed < 1 << 64:
        raise InvalidArgumentError(f"expected a seed from 0 to 2^64 - 1, got {seed}")
    return seed
