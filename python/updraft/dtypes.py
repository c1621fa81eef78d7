"""Storage types, as users write them and as the C API numbers them."""

from typing import Any

from .errors import InvalidArgumentError

# The numbers of upd_dtype.
_NUMBERS = {
    "f32": 0,
    "f64": 1,
    "bf16": 2,
    "f16": 3,
    "bf16_stochastic": 4,
    "bf16_corrected": 5,
    "q8_linear": 6,
    "q8_companded": 7,
}
_ALIASES = {
    "float32": "f32",
    "float": "f32",
    "float64": "f64",
    "double": "f64",
    "bfloat16": "bf16",
    "float16": "f16",
    "half": "f16",
}


def number(dtype: Any) -> int:
    """Returns the C API's number of a dtype: "bf16", "bfloat16", or numpy's, torch's or ml_dtypes'.

    >>> number("bfloat16")
    2
    """
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if name is None:
        name = getattr(dtype, "__name__", None) or str(dtype)
    name = name.removeprefix("torch.")
    name = _ALIASES.get(name, name)
    if name not in _NUMBERS:
        raise InvalidArgumentError(
            f"unknown storage type `{name}`; the types are " + ", ".join(_NUMBERS)
        )
    return _NUMBERS[name]


def numpy_bfloat16() -> Any:
    """Returns ml_dtypes' bfloat16 as numpy's dtype, or None where it is not installed."""
    try:
        import ml_dtypes
        import numpy
    except ImportError:
        return None
    return numpy.dtype(ml_dtypes.bfloat16)
