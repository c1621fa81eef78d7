"""Storage types, in the spelling of users and of the language."""

from typing import Any

from . import _updraft
from .errors import InvalidArgumentError

_ALIASES = {
    "float32": "f32",
    "float": "f32",
    "float64": "f64",
    "double": "f64",
    "bfloat16": "bf16",
    "float16": "f16",
    "half": "f16",
}


def canonical_name(dtype: Any) -> str:
    """Returns the language's name for a dtype: a name, or a dtype of numpy, torch or ml_dtypes.

    >>> canonical_name("bfloat16")
    'bf16'
    """
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if name is None:
        name = getattr(dtype, "__name__", None) or str(dtype)
    name = name.removeprefix("torch.")
    name = _ALIASES.get(name, name)
    known = _updraft.storage_types()
    if name not in known:
        raise InvalidArgumentError(
            f"unknown storage type `{name}`; the types are `" + "`, `".join(known) + "`"
        )
    return name


def is_storage_type(dtype: Any) -> bool:
    """Whether there is a storage type for a dtype.

    >>> is_storage_type("int8")
    False
    """
    try:
        canonical_name(dtype)
    except InvalidArgumentError:
        return False
    return True


def numpy_bfloat16() -> Any:
    """Returns ml_dtypes' bfloat16 as numpy's dtype, or None if ml_dtypes isn't installed."""
    try:
        import ml_dtypes
        import numpy
    except ImportError:
        return None
    return numpy.dtype(ml_dtypes.bfloat16)
