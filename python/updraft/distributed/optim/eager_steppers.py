"""How an optimizer in Python receives gradients: as `.grad`, or as arguments."""

import contextlib
import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import torch

from ...optim.correspondence import Group
from .functional import FunctionalOptimizer

Gradients = dict[torch.Tensor, torch.Tensor]
States = dict[str, Any]


def _copied(states: States) -> States:
    return {
        name: value.detach().clone() if isinstance(value, torch.Tensor) else copy.deepcopy(value)
        for name, value in states.items()
    }


class EagerStepper(Protocol):
    """Steps parameters of one worker. Only one thread at a time.

    Attributes:
        params: the parameters, group by group.
    """

    params: list[torch.Tensor]

    def set_options(self, options: list[dict[str, Any]]) -> None:
        """Sets the hyperparameters of each group."""

    def ready(self, held: Gradients) -> contextlib.AbstractContextManager[Callable[[], Any]]:
        """Copies gradients, because a class may write to them; returns the function that steps."""

    def states(self) -> list[States]:
        """Returns copies of the states of each parameter."""

    def load_states(self, states: dict[int, States]) -> None:
        """Loads the states of parameters, by position in `params`."""


class OptimizerStepper:
    """Uses an optimizer of torch, which reads `.grad`. Restores `.grad` afterwards."""

    def __init__(self, kind: Any, groups: list[Group], args: Any, kwargs: Any) -> None:
        self.params = [param for group in groups for param in group["params"]]
        self._optimizer = kind(groups, *args, **kwargs)

    def set_options(self, options: list[dict[str, Any]]) -> None:
        for group, changed in zip(self._optimizer.param_groups, options, strict=True):
            group.update(changed)

    @contextlib.contextmanager
    def ready(self, held: Gradients) -> Iterator[Callable[[], Any]]:
        with contextlib.ExitStack() as restored:
            for param in self.params:
                restored.callback(setattr, param, "grad", param.grad)
            for param in self.params:
                param.grad = held[param].clone() if param in held else None
            yield self._optimizer.step

    def states(self) -> list[States]:
        states = self._optimizer.state
        return [_copied(states[param]) if param in states else {} for param in self.params]

    def load_states(self, states: dict[int, States]) -> None:
        self._optimizer.load_state_dict(self._optimizer.state_dict() | {"state": states})


class FunctionalStepper:
    """Uses functional optimizers, one per group. They have `step(gradients)`. Their hyperparameters
    are in `param_group` if they are Updraft's, and else in `defaults`, like torch's.
    """

    def __init__(self, kind: Any, groups: list[Group], args: Any, kwargs: Any) -> None:
        self.params = [param for group in groups for param in group["params"]]
        self._groups = [list(group["params"]) for group in groups]
        self._functionals = [kind(params, *args, **kwargs) for params in self._groups]
        # The client has checked them. A loaded group may also have entries of a scheduler.
        self.set_options(
            [{name: v for name, v in group.items() if name != "params"} for group in groups]
        )

    def set_options(self, options: list[dict[str, Any]]) -> None:
        for functional, changed in zip(self._functionals, options, strict=True):
            if isinstance(functional, FunctionalOptimizer):
                functional.param_group.update(changed)
            elif changed:
                functional.defaults.update(changed)

    @contextlib.contextmanager
    def ready(self, held: Gradients) -> Iterator[Callable[[], Any]]:
        given = [
            [held[param].clone() if param in held else None for param in params]
            for params in self._groups
        ]

        @torch.no_grad()
        def step() -> None:
            for functional, gradients in zip(self._functionals, given, strict=True):
                if any(gradient is not None for gradient in gradients):
                    functional.step(gradients)

        yield step

    def _owners(self) -> list[Any]:
        return [
            functional
            for functional, params in zip(self._functionals, self._groups, strict=True)
            for _ in params
        ]

    def states(self) -> list[States]:
        return [
            _copied(functional.state[param]) if param in functional.state else {}
            for functional, param in zip(self._owners(), self.params, strict=True)
        ]

    def load_states(self, states: dict[int, States]) -> None:
        owners = self._owners()
        for place, state in states.items():
            owners[place].state[self.params[place]] = _copied(state)


def functional_options(functionals: Sequence[Any], groups: Sequence[Group]) -> list[dict[str, Any]]:
    """Returns the options of each group for functional optimizers.

    Raises:
        ValueError: a functional optimizer doesn't have such an option.
    """
    options = []
    for functional, group in zip(functionals, groups, strict=True):
        known = getattr(functional, "defaults", {})
        given = {name: value for name, value in group.items() if name != "params"}
        for name in given:
            if name not in known:
                raise ValueError(
                    f"unknown option `{name}` in a parameter group; the `defaults` of "
                    f"{type(functional).__name__} are "
                    f"{', '.join(f'`{each}`' for each in known) or 'empty'}"
                )
        options.append(given)
    return options
