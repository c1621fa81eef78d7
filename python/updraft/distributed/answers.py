"""Errors of operators of `runtime/torch/rpc`, which arrive as texts that begin with a type."""

import re

# Those of runtime/torch/rpc/Answer.h.
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
    """Returns the type that an error's text begins with, and the rest of it.

    The type is None, and the text as it is, if no operator has answered so.
    """
    match = _TYPED.match(text)
    return (TYPES[match[1]], text[match.end() :]) if match else (None, text)
