"""Hints for misspelled names."""

from collections.abc import Iterable


def hint(name: str, known: Iterable[str], otherwise: str) -> str:
    """Returns "did you mean `NAME`?" with a similar known name, or `otherwise` if there is none."""
    import difflib

    by_lower = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"did you mean `{by_lower[near[0]]}`?" if near else otherwise
