"""numpy's functions of a rule's values."""

from collections.abc import Callable
from typing import Any

from . import functions
from .messages import error
from .places import here
from .values import Value, binary, record

# What numpy calls the operators of the language: how that writes them, and how Python does.
_OPERATORS = {
    "add": ("+", "+"),
    "bitwise_and": ("&&", "&"),
    "bitwise_or": ("||", "|"),
    "divide": ("/", "/"),
    "equal": ("==", "=="),
    "greater": (">", ">"),
    "greater_equal": (">=", ">="),
    "less": ("<", "<"),
    "less_equal": ("<=", "<="),
    "logical_and": ("&&", "&"),
    "logical_or": ("||", "|"),
    "multiply": ("*", "*"),
    "not_equal": ("!=", "!="),
    "power": ("^", "**"),
    "subtract": ("-", "-"),
    "true_divide": ("/", "/"),
}

# The functions that are the same there and here; `numpy.sign` of NaN is another.
_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "absolute": functions.abs,
    "ceil": functions.ceil,
    "exp": functions.exp,
    "floor": functions.floor,
    "isfinite": functions.isfinite,
    "isnan": functions.isnan,
    "log": functions.log,
    "maximum": functions.max,
    "minimum": functions.min,
    "sqrt": functions.sqrt,
    "square": functions.square,
    "tanh": functions.tanh,
}


def apply(name: str, operands: tuple[Any, ...], is_plain: bool) -> Value:
    """Records one of numpy's functions; `is_plain` unless it has further arguments."""
    if is_plain and name in _OPERATORS:
        left, right = operands
        return binary(_OPERATORS[name][0], left, right, _OPERATORS[name][1])
    if is_plain and name in _FUNCTIONS:
        return _FUNCTIONS[name](*operands)
    if is_plain and name == "negative":
        return record("unary", "-", operands)
    if is_plain and name in ("invert", "logical_not"):
        return record("unary", "!", operands, is_bool=True)
    same = name if hasattr(functions, name) and not name.startswith("_") else None
    hint = f"use `updraft.{same}`" if same else "use those of `updraft`"
    raise error(f"`numpy.{name}` is no function of a rule; {hint}", here())
