"""What makes and steps the remote optimizers of a distributed one."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch

from ...optim.correspondence import Group
from .remote import RemoteOptimizer


class Execution(Protocol):
    """How a class or a rule steps parameters on workers: compiled, or in Python.

    What is asked of a worker returns a future, and raises only through it.

    Attributes:
        template: an optimizer of the class here, of one small parameter in each group.
        defaults: the options of the class, with what the constructor was given.
        state_names: the names of the states that parameters may have; None: whatever the class has.
        counts_steps: whether a parameter with states has a step count among them.
        is_functional: whether steps are given gradients, and leave `.grad` alone.
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
        """Makes an optimizer on its worker; the future has what `take` takes.

        Args:
            replaced: one with the same parameters, whose place it takes: contexts that this has
                applied are applied.
        """

    def take(self, remote: RemoteOptimizer, answer: Any) -> None:
        """Takes what a worker says of the optimizer that it has made."""

    def follows(self, groups: Sequence[Group]) -> bool:
        """Takes the hyperparameters of groups; whether the optimizers that workers have can step
        with them. If not, others are to be made, and `made_for` to be called.

        Raises:
            ValueError: what the class says to the hyperparameters.
        """

    def made_for(self, groups: Sequence[Group]) -> None:
        """Is told that the workers' optimizers were made for groups."""

    def used_states(self, group: int) -> frozenset[str] | None:
        """The names of the states that steps of a group use, as of what `follows` was given; None:
        whatever there is.
        """

    def step_arguments(
        self, remotes: Sequence[RemoteOptimizer], groups: Sequence[Group]
    ) -> list[Any]:
        """Returns what each optimizer is to step with, as of groups that `follows` was given."""

    def same_arguments(
        self, remotes: Sequence[RemoteOptimizer], groups: Sequence[Group]
    ) -> list[Any] | None:
        """Returns what `step_arguments` did last if it would again: for the same optimizers, and
        with no value of the groups changed. None where telling that takes long.
        """

    def step(self, remote: RemoteOptimizer, arguments: Any, context_id: int, before: int) -> Any:
        """Applies a context that was applied `before` times; the future has the number of
        parameters that were stepped, or `ALREADY_APPLIED` if it was applied more often.
        """

    def states(self, remote: RemoteOptimizer) -> Any:
        """Asks for the states of parameters; the future has what `packed` takes."""

    def packed(self, remote: RemoteOptimizer, answer: Any) -> dict[int, dict[str, Any]]:
        """Returns the states by the indices of parameters, as a `state_dict` has them."""

    def unpacked(self, index: int, state: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the states of a parameter in a `state_dict` as `load_states` takes them.

        Raises:
            TypeError: one is nothing that a state can be.
        """

    def load_states(self, remote: RemoteOptimizer, states: dict[int, dict[str, Any]]) -> Any:
        """Gives an optimizer that was just made the states of its parameters."""

    def release(self, remotes: Sequence[RemoteOptimizer]) -> None:
        """Gives up what workers have. Does not wait."""
