"""Errors of operators of `runtime/torch/rpc`, which arrive as text that begins with a type."""

import re

# The types of runtime/torch/rpc/Answer.h.
TYPES: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        ValueError,
        TypeError,
        IndexError,
        NotImplementedError,
        TimeoutError,
        RuntimeError,
    )
}
_TYPED = re.compile(rf"\A({'|'.join(TYPES)}): ")


def typed(text: str) -> tuple[type[Exception] | None, str]:
    """Returns the exception type that an error's text begins with, and the rest of the text.

    If the text doesn't come from an operator, returns None and the whole text.
    """
    match = _TYPED.match(text)
    return (TYPES[match[1]], text[match.end() :]) if match else (None, text)
