"""Applying a compiled rule to arrays."""

import os
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from . import _updraft
from .compiler import Rule


class Group(MutableMapping[str, float]):
    """Parameters that share hyperparameters: a mapping from each hyperparameter to its value.

    Setting one takes effect with the next step and never compiles.
    """

    def __init__(
        self, optimizer: _updraft.Optimizer, index: int, hypers: Sequence[str], params: list[Any]
    ) -> None:
        self._optimizer = optimizer
        self._index = index
        self._hypers = tuple(hypers)
        self.params = params

    def __getitem__(self, name: str) -> float:
        if name not in self._hypers:
            raise KeyError(name)
        return self._optimizer.get_hyper(self._index, name)

    def __setitem__(self, name: str, value: float) -> None:
        self._optimizer.set_hyper(self._index, name, value)

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"hyperparameter `{name}` cannot be deleted; set it to another value")

    def __iter__(self) -> Iterator[str]:
        return iter(self._hypers)

    def __len__(self) -> int:
        return len(self._hypers)

    def __repr__(self) -> str:
        return f"Group({dict(self)!r}, {len(self.params)} parameters)"


class Optimizer:
    """Applies one compiled rule to parameters, in place.

    Parameters and gradients are numpy arrays, or anything with `__dlpack__` such as torch's CPU
    tensors; they are viewed, never copied, and kept alive. An array must keep its memory: torch's
    `param.data = …` leaves the optimizer with the old one.

    Args:
        rule: from `compile` or `compile_file`.
        params: arrays; or groups, `[{"params": [...], "lr": 1e-3}, …]`, where "names" may hold a
            name per parameter, for `save`.
        **hypers: values for all groups that do not set their own.

    Raises:
        InvalidArgumentError: a parameter has the wrong dtype, is read-only or overlaps another, or
            a hyperparameter is unknown, NaN or refused by the rule. Nothing has been written.

    >>> import numpy
    >>> from updraft import compile
    >>> text = "rule SGD(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }"
    >>> rule = compile(text)
    >>> weights = numpy.ones(3, dtype="float32")
    >>> optimizer = Optimizer(rule, [weights], lr=0.5)
    >>> optimizer.step([numpy.ones(3, dtype="float32")])
    >>> weights
    array([0.5, 0.5, 0.5], dtype=float32)
    """

    def __init__(
        self, rule: Rule, params: Sequence[Any] | Sequence[Mapping[str, Any]], **hypers: float
    ) -> None:
        params = list(params)
        if params and all(isinstance(item, Mapping) for item in params):
            groups = [dict(group) for group in params]
        else:
            groups = [{"params": params}]

        described = []
        for group in groups:
            if "params" not in group:
                raise ValueError('a parameter group has no "params"; give it a list of arrays')
            members = list(group.pop("params"))
            names = list(group.pop("names", ()))
            if names and len(names) != len(members):
                raise ValueError(
                    f"a parameter group has {len(members)} params and {len(names)} names; "
                    "give one name per parameter or none"
                )
            values = {name: float(value) for name, value in (hypers | group).items()}
            described.append((members, names, list(values.items())))

        self._optimizer = _updraft.Optimizer(rule._compiled, described)
        self._rule = rule
        self._groups = tuple(
            Group(self._optimizer, index, tuple(rule.hypers), members)
            for index, (members, _, _) in enumerate(described)
        )

    @property
    def rule(self) -> Rule:
        """The rule that is applied."""
        return self._rule

    @property
    def groups(self) -> tuple[Group, ...]:
        """The parameter groups: `optimizer.groups[0]["lr"] = 1e-4`."""
        return self._groups

    def step(self, grads: Sequence[Any]) -> None:
        """Applies one step, without the GIL.

        `grads` has one gradient per parameter, over all groups; None leaves a parameter alone.
        Gradients are only read. An error is raised before anything is written.
        """
        self._optimizer.step(grads)

    def state(self, param: int) -> dict[str, Any]:
        """Returns the states of a parameter by name, as arrays over the optimizer's own memory.

        Empty until the parameter's first step. bf16 comes as ml_dtypes' type if that is installed,
        else as an object for `torch.from_dlpack`.
        """
        views = {name: self._optimizer.state(param, name) for name in self._rule.states}
        return {name: view for name, view in views.items() if view is not None}

    def bind_state(self, param: int, name: str, array: Any) -> None:
        """Uses `array`'s memory for a state; its content becomes the state's value."""
        self._optimizer.bind_state(param, name, array)

    def step_count(self, param: int) -> int:
        """Returns how many steps a parameter has taken."""
        return self._optimizer.get_step(param)

    def set_step_count(self, param: int, count: int) -> None:
        """Sets how many steps a parameter has taken."""
        self._optimizer.set_step(param, count)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes states, step counts and hyperparameters as a safetensors file."""
        self._optimizer.save(os.fspath(path))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Reads what `save` wrote: all of it, or on an error nothing."""
        self._optimizer.load(os.fspath(path))

    def __repr__(self) -> str:
        return f"<updraft optimizer {self._rule.name}, {self._optimizer.param_count} parameters>"
