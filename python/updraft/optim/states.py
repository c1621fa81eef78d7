"""Mappings of optimizer states that know when they were changed.

A compiled step holds the states of all parameters. Whether someone has put other tensors in their
place is one comparison of numbers per step then, not a look at every parameter.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import torch


class Generation:
    """A number that every change of the mappings that share it increases."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0


def _counting(name: str) -> Callable[..., Any]:
    original = getattr(dict, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, OptimizerState):
            self.fill()
        self.generation.number += 1
        return original(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = original.__doc__
    return method


def _filling(name: str) -> Callable[..., Any]:
    original = getattr(defaultdict, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.fill()
        return original(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = original.__doc__
    return method


class ParameterState(dict[str, Any]):
    """The states of one parameter."""

    def __init__(self, generation: Generation, values: Mapping[str, Any] | None = None) -> None:
        super().__init__(values or {})
        self.generation = generation

    def __reduce__(self) -> Any:
        """Copies and pickles are plain dicts: loading them needs nothing of this package."""
        return dict, (dict(self),)


class StateSource(Protocol):
    """What makes states."""

    def take_states(self) -> Iterable[tuple[torch.Tensor, dict[str, Any]]]:
        """Returns what it has made since the last call, by parameters."""


class OptimizerState(defaultdict[torch.Tensor, Any]):
    """The states of all parameters: what `torch.optim.Optimizer.state` is.

    Those that steps have made are entered when somebody looks: thousands of small parameters would
    wait longer for their tensors in Python than for the step.
    """

    def __init__(self, generation: Generation, values: Mapping[Any, Any]) -> None:
        super().__init__(lambda: ParameterState(generation))
        self.generation = generation
        self.sources: list[StateSource] = []
        # Who finds neither a source nor this set relies on all that was made being here.
        self.filling = False
        self.entering = threading.RLock()
        self.update(values)

    def expect(self, source: "StateSource") -> None:
        """Enters what `source` has, now or when somebody looks."""
        with self.entering:
            if source not in self.sources:
                self.sources.append(source)
        # Of the dicts that are here, one may be in someone's hands.
        if dict.__len__(self):
            self.fill()

    def fill(self) -> None:
        """Enters all that has been made. This is no change."""
        if not self.sources and not self.filling:
            return
        with self.entering:
            if self.filling:
                return
            self.filling = True
            try:
                self._take(self.sources)
            finally:
                self.filling = False

    def _take(self, sources: list[StateSource]) -> None:
        self.sources = []
        for source in sources:
            for param, made in source.take_states():
                state = dict.get(self, param)
                if state is None:
                    dict.__setitem__(self, param, ParameterState(self.generation, made))
                else:
                    dict.update(state, made)

    def __setitem__(self, param: Any, state: Any) -> None:
        self.fill()
        self.generation.number += 1
        if type(state) is dict:
            state = ParameterState(self.generation, state)
        super().__setitem__(param, state)

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Like `dict.update`."""
        for param, state in dict(*args, **kwargs).items():
            self[param] = state

    def setdefault(self, param: Any, state: Any = None) -> Any:
        """Like `dict.setdefault`."""
        if param not in self:
            self[param] = state
        return self[param]

    def __ior__(self, states: Any) -> "OptimizerState":  # type: ignore[override,misc]
        self.update(states)
        return self

    def copy(self) -> Any:
        """Returns a copy of the mapping, as `torch.optim` has it."""
        return self.plain()

    __copy__ = copy

    def __or__(self, states: Any) -> Any:
        return self.plain() | states

    def __ror__(self, states: Any) -> Any:
        return states | self.plain()

    def plain(self) -> defaultdict[torch.Tensor, Any]:
        """Returns the same without the counting, as `torch.optim` has it."""
        plain: defaultdict[torch.Tensor, Any] = defaultdict(dict)
        for param, state in self.items():
            plain[param] = dict(state) if isinstance(state, ParameterState) else state
        return plain

    def __reduce__(self) -> Any:
        return self.plain().__reduce__()


for _name in (
    *("__getitem__", "__contains__", "__iter__", "__len__", "__reversed__", "__eq__", "__ne__"),
    *("__repr__", "get", "keys", "values", "items"),
):
    setattr(OptimizerState, _name, _filling(_name))
for _name in ("__delitem__", "clear", "pop", "popitem"):
    setattr(ParameterState, _name, _counting(_name))
    setattr(OptimizerState, _name, _counting(_name))
# These also take states of all parameters, which `OptimizerState` has to wrap.
for _name in ("__setitem__", "__ior__", "setdefault", "update"):
    setattr(ParameterState, _name, _counting(_name))
