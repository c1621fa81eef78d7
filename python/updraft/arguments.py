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


_MAX_INDEX = 2**63 - 1


def index_array(indices: Any, what: str) -> Any:
    """A copy of the row indices, so that no other thread can change them between check and use."""
    import numpy

    require_unmasked(indices, f"the indices of {what}")
    try:
        array = numpy.asarray(indices).copy()
    except (ValueError, RuntimeError) as error:
        text = f"cannot convert the indices of {what} to an array: {error}"
        raise InvalidArgumentError(text) from None
    if array.size == 0:
        array = array.astype("int64")
    if array.dtype.kind not in "iu":
        raise TypeError(f"the indices of {what} are {array.dtype}; give integers")
    if array.ndim != 1:
        raise InvalidArgumentError(
            f"the indices of {what} have {array.ndim} dimensions; give a list of rows, numbered as "
            "they lie in memory (see `updraft.Rows`)"
        )
    if array.size and array.dtype == "uint64" and array.max() > _MAX_INDEX:
        at = int(array.argmax())
        raise InvalidArgumentError(
            f"index {at} of {what} is {array[at]}, but indices are at most 2^63 - 1"
        )
    return numpy.ascontiguousarray(array, dtype="int64")
