"""Checks of function arguments."""

import sys
from collections.abc import Mapping
from typing import Any

from .errors import InvalidArgumentError


def require_text(text: Any, what: str) -> str:
    """Returns a text that the library accepts: UTF-8 without null characters."""
    if not isinstance(text, str):
        raise TypeError(f"the {what} is {type(text)}; give text")
    if "\0" in text:
        raise InvalidArgumentError(f"the {what}, {text!r}, has a null character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(
            f"the {what}, {text!r}, has an unpaired surrogate, which UTF-8 cannot encode"
        ) from None
    return text


def require_dict(mapping: Any, what: str) -> dict[Any, Any]:
    """Converts a mapping to a dict; None becomes an empty dict."""
    if mapping is None:
        return {}
    if not isinstance(mapping, Mapping):
        raise TypeError(f"{what} is {type(mapping)}; give a dict, `{{name: value}}`")
    return dict(mapping)


def require_unmasked(value: Any, what: str) -> None:
    """Refuses numpy's masked arrays, because reading their memory ignores the mask."""
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(value, masked.MaskedArray):
        raise TypeError(
            f"{what} is a masked array, but masks are not supported; give its `filled(0)`, or its "
            "`data`"
        )
