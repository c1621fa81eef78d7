"""The interface for creating and stepping remote optimizers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch

from ...optim.correspondence import Group
from .remote import RemoteOptimizer


class Execution(Protocol):
    """How a class or a rule steps parameters on workers: compiled, or in Python.

    Requests to a worker return a future, and raise only through it.

    Attributes:
        template: a local optimizer of the class, with one small parameter in each group.
        defaults: the options of the class, with the constructor's arguments.
        state_names: the names of the states that parameters may have; None for any.
        counts_steps: whether the states of a parameter include a step count.
        is_functional: whether steps receive gradients, and leave `.grad` unchanged.
    """

    @property
    def template(self) -> torch.optim.Optimizer: ...
    @property
    def defaults(self) -> dict[str, Any]: ...
    @property
    def state_names(self) -> tuple[str, ...] | None: ...
    @property
    def counts_steps(self) -> bool: ...
    @property
    def is_functional(self) -> bool: ...

    def create(
        self,
        remote: RemoteOptimizer,
        groups: Sequence[Group],
        replaced: RemoteOptimizer | None,
    ) -> Any:
        """Creates an optimizer on its worker; the future has the argument of `take`.

        Args:
            replaced: an optimizer of the same parameters that it replaces. Contexts that were
                applied by it stay applied.
        """

    def take(self, remotes: Sequence[RemoteOptimizer], answers: Sequence[Any]) -> None:
        """Receives the workers' descriptions of the optimizers that they have created.

        Raises:
            InvalidArgumentError: an option is for parameters of another dtype.
        """

    def follows(self, groups: Sequence[Group]) -> bool:
        """Accepts the hyperparameters of groups. Returns whether the workers' optimizers can step
        with them. If not, create other optimizers and call `made_for`.

        Raises:
            ValueError: the class refuses the hyperparameters.
        """

    def made_for(self, groups: Sequence[Group]) -> None:
        """Called after the workers' optimizers were created for groups."""

    def used_states(self, group: int) -> frozenset[str] | None:
        """The states that steps of a group use, for the last groups of `follows`; None for all."""

    def step_arguments(
        self, remotes: Sequence[RemoteOptimizer], groups: Sequence[Group]
    ) -> list[Any]:
        """Returns the arguments of each optimizer's step, for groups that `follows` was given."""

    def same_arguments(
        self, remotes: Sequence[RemoteOptimizer], groups: Sequence[Group]
    ) -> list[Any] | None:
        """Returns the last result of `step_arguments` if it is still valid: the optimizers are the
        same, and no value of the groups has changed. None if that is expensive to check.
        """

    def step(self, remote: RemoteOptimizer, arguments: Any, context_id: int, before: int) -> Any:
        """Applies a context that was applied `before` times. The future has the number of stepped
        parameters, or `ALREADY_APPLIED` if it was applied more often.
        """

    def states(self, remote: RemoteOptimizer) -> Any:
        """Requests the states of parameters; the future has the argument of `packed`."""

    def packed(self, remote: RemoteOptimizer, answer: Any) -> dict[int, dict[str, Any]]:
        """Returns the states by parameter index, as in a `state_dict`."""

    def unpacked(self, index: int, state: Mapping[str, Any]) -> dict[str, Any]:
        """Converts the states of a parameter in a `state_dict` for `load_states`.

        Raises:
            TypeError: a value can't be a state.
        """

    def load_states(self, remote: RemoteOptimizer, states: dict[int, dict[str, Any]]) -> Any:
        """Loads states into an optimizer that was just created."""

    def release(self, remotes: Sequence[RemoteOptimizer]) -> None:
        """Releases the workers' optimizers. Does not wait."""
