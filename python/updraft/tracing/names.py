"""Names in the language: which are valid, and conversion of variable names."""

from .messages import error
from .places import Place

# As in Lexer.cpp.
KEYWORDS = frozenset(
    [
        "else",
        "false",
        "finish",
        "fn",
        "hold",
        "if",
        "import",
        "let",
        "next",
        "over",
        "probe",
        "repeat",
        "require",
        "return",
        "rule",
        "skip",
        "state",
        "static",
        "then",
        "transform",
        "true",
        "update",
        "when",
    ]
)
RESERVED = frozenset({"param", "grad", "step", "first", "matrix", "new_param", "numerics"})
_MAX_LENGTH = 100


def is_name(text: object) -> bool:
    """Whether a text is a valid name in the language."""
    return (
        isinstance(text, str)
        and len(text) <= _MAX_LENGTH
        and text.isascii()
        and text.isidentifier()
        and text not in KEYWORDS
    )


def check_name(text: object, what: str, place: Place | None) -> None:
    """Refuses an invalid name. `what` is text such as "a state"."""
    if is_name(text):
        return
    if isinstance(text, str) and text in KEYWORDS:
        reason = "which is a keyword of the language; choose another name"
    else:
        reason = f"which is not a name; a name is at most {_MAX_LENGTH} letters, digits and `_`"
    raise error(f"{what} is called {text!r}, {reason}", place)


class Namespace:
    """Gives every value a unique name."""

    def __init__(self, taken: "set[str] | frozenset[str]", states: "set[str]") -> None:
        self._taken = set(taken) | states
        self._states = states
        self._counts: dict[str, int] = {}

    def unique(self, wish: str) -> str:
        """Returns a valid, unused name that is as close to `wish` as possible."""
        name = "".join(c if c.isascii() else "_" for c in wish)[: _MAX_LENGTH - 8]
        if name in self._states:
            # The next value of a state is often assigned to a variable with the state's name.
            name = "new_" + name
        if name in KEYWORDS:
            name += "_"
        candidate, count = name, self._counts.get(name, 1)
        while candidate in self._taken:
            count += 1
            candidate = f"{name}_{count}"
        self._counts[name] = count
        self._taken.add(candidate)
        return candidate
