"""The library's transforms, as stages of a chain.

`updraft.transforms.clip_by_global_norm(max_norm=0.5)` is the stage with the text
`clip_by_global_norm(max_norm = 0.5)` in the language. docs/language.md describes the transforms.
"""

from collections.abc import Callable
from typing import Any

from . import _updraft
from .compiled_rule import setting_literal
from .near_names import hint


class Stage:
    """A transform of the library with its arguments."""

    def __init__(self, name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        self._name = name
        self._arguments = arguments
        self._named = named

    @property
    def text(self) -> str:
        """The stage as the language writes it."""
        texts = [setting_literal(str(i), value) for i, value in enumerate(self._arguments)]
        texts += [f"{name} = {setting_literal(name, v)}" for name, v in self._named.items()]
        return f"{self._name}({', '.join(texts)})" if texts else self._name

    def __repr__(self) -> str:
        return f"<updraft stage {self.text}>"


def __dir__() -> list[str]:
    return [*_updraft.transforms(), "Stage"]


def __getattr__(name: str) -> Callable[..., Stage]:
    if name not in _updraft.transforms():
        near = hint(name, _updraft.transforms(), "`dir(updraft.transforms)` lists them")
        raise AttributeError(f"unknown transform `{name}`; {near}")

    def make(*arguments: Any, **named: Any) -> Stage:
        return Stage(name, arguments, named)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The transform `{name}` of the library, with positional or named arguments."
    return make
