"""Mappings of optimizer states that count their changes.

A compiled step keeps the states of all parameters. To find out whether someone has replaced a
tensor, each step compares one number instead of looking at every parameter.
"""

import operator
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import torch


class Generation:
    """A counter that is increased by every change of the mappings that share it."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0


def contents_of(states: Iterable[tuple[Any, Any]]) -> list[Any]:
    """Returns all objects in the states of the parameters, for `is_same` to compare."""
    found: list[Any] = []
    for param, state in states:
        found += (param, state)
        if isinstance(state, Mapping):
            found += state
            found += state.values()
    return found


def is_same(contents: list[Any], others: list[Any]) -> bool:
    """Whether both contain the same objects. `==` would compare the values of tensors."""
    return len(contents) == len(others) and all(map(operator.is_, contents, others))


def _counting(name: str) -> Callable[..., Any]:
    original = getattr(dict, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self, OptimizerState):
            self.fill()
        if self.generation is not None:
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
    """The states of a parameter, as a dict that counts changes once it is in a mapping."""

    generation: Generation | None = None

    @classmethod
    def of(cls, generation: Generation, values: Mapping[str, Any]) -> "ParameterState":
        """Returns a dict of states that counts its changes."""
        state = cls(values)
        state.generation = generation
        return state

    def __reduce__(self) -> Any:
        """Copies and pickles are plain dicts, so loading them doesn't need this package."""
        return dict, (dict(self),)


def counts_in(state: Any, generation: Generation) -> bool:
    """Whether the states of a parameter count their changes in `generation`."""
    return isinstance(state, ParameterState) and state.generation is generation


def enter(state: Any, made: Mapping[str, Any], generation: Generation) -> None:
    """Adds states from a step to those of a parameter. This doesn't count as a change in
    `generation`, the counter of the parameter's own optimizer.
    """
    if counts_in(state, generation):
        dict.update(state, made)
    else:
        state.update(made)


class ComparedStates:
    """Finds changes in dicts that don't count them. Each step compares their contents with those
    after the previous step.
    """

    generation: Generation

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known: list[Any] = []

    def _compared(self) -> Iterable[tuple[Any, Any]]:
        """The parameters with such states, and the states."""
        raise NotImplementedError

    def look(self) -> None:
        """Counts a change if the contents have changed."""
        found = contents_of(self._compared())
        if not is_same(found, self.known):
            self.generation.number += 1
            self.known = found

    def settle(self) -> None:
        """Remembers the current contents, so that states from a step don't count as a change."""
        self.known = contents_of(self._compared())


class StateSource(Protocol):
    """An object that creates states."""

    def take_states(self) -> Iterator[tuple[torch.Tensor, dict[str, Any]]]:
        """Returns the created states by parameter. If the caller stops at a parameter, without
        asking for the next one, the next call returns the states of this parameter again.
        """


class OptimizerState(ComparedStates, defaultdict[torch.Tensor, Any]):
    """The states of all parameters, for `torch.optim.Optimizer.state`.

    States that steps have created are entered lazily, on first access. For thousands of small
    parameters, creating the tensors in Python would take longer than the step.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Like a defaultdict's, for code that copies nested containers by their classes."""
        super().__init__(*args, **kwargs)
        self.generation = Generation()
        self.sources: list[StateSource] = []
        # If `sources` is empty and `filling` is false, every state is present.
        self.filling = False
        self.entering = threading.RLock()
        #: Parameters with states in dicts that don't count changes.
        self.others: dict[torch.Tensor, None] = {}

    @classmethod
    def of(cls, generation: Generation, values: Mapping[Any, Any]) -> "OptimizerState":
        """Returns a mapping that counts its changes. Replaces plain dicts in `values` with dicts
        that count theirs.
        """
        states = cls(lambda: ParameterState.of(generation, {}))
        states.generation = generation
        for param, state in values.items():
            adopted = ParameterState.of(generation, state) if type(state) is dict else state
            states[param] = adopted
        return states

    @property
    def mapping(self) -> "OptimizerState":
        """The mapping that users see."""
        return self

    def of_param(self, param: torch.Tensor) -> Any:
        """The states of a parameter; None if it doesn't have any."""
        self.fill()
        return dict.get(self, param)

    def expect(self, *sources: "StateSource") -> None:
        """Enters the states of sources, now or on first access."""
        with self.entering:
            for source in sources:
                if self.filling or source not in self.sources:
                    self.sources.append(source)
        # A user may hold a reference to one of the existing dicts.
        if dict.__len__(self):
            self.fill()

    def fill(self) -> None:
        """Enters all created states. Doesn't count as a change."""
        if not self.sources and not self.filling:
            return
        with self.entering:
            if self.filling:
                return
            self.filling = True
            try:
                self._take()
            finally:
                self.filling = False

    def _take(self) -> None:
        # Sources are removed last: an exception, such as Ctrl-C, must not lose their states.
        for _ in range(len(self.sources)):
            for param, made in self.sources[0].take_states():
                state = dict.get(self, param)
                if state is None:
                    dict.__setitem__(self, param, ParameterState.of(self.generation, made))
                else:
                    enter(state, made, self.generation)
            del self.sources[0]

    def _compared(self) -> Iterable[tuple[Any, Any]]:
        found = []
        for param in list(self.others):
            state = dict.get(self, param)
            if state is None or counts_in(state, self.generation):
                del self.others[param]
            else:
                found.append((param, state))
        return found

    def __setitem__(self, param: Any, state: Any) -> None:
        self.fill()
        self.generation.number += 1
        if isinstance(state, ParameterState) and state.generation is None:
            state.generation = self.generation
        super().__setitem__(param, state)
        if not counts_in(state, self.generation):
            self.others[param] = None

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
        """Returns a copy that doesn't count changes, as in `torch.optim`."""
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
# These methods also accept states, which `OptimizerState` has to wrap.
for _name in ("__setitem__", "__ior__", "setdefault", "update"):
    setattr(ParameterState, _name, _counting(_name))
