"""The interface of the parts of a step."""

from typing import Protocol

import torch

from ..compiled_rule import CompiledRule
from .assigned_states import States
from .correspondence import Group
from .devices import GradientScale


class SteppedPart(Protocol):
    """Steps some parameters of a group.

    Attributes:
        params: the parameters, as the group has them.
        numbers: their numbers in the optimizer.
        reads_on_device: whether a step reads `found_inf` on the parameters' device.
        rule: the rule that steps the parameters, if it is one.
        calls_operators: whether a step calls operators of torch, which tensors may intercept.
    """

    params: list[torch.Tensor]
    numbers: list[int]

    @property
    def rule(self) -> CompiledRule | None:
        """See the attributes above."""

    @property
    def reads_on_device(self) -> bool:
        """See the attributes above."""

    @property
    def calls_operators(self) -> bool:
        """See the attributes above."""

    def accept(self, group: Group, factor: float | GradientScale | None) -> None:
        """Accepts the group's current hyperparameters for later steps. Called before the first.

        Args:
            group: the parameter group.
            factor: the factor for gradients; None for 1.

        Raises:
            ValueError: the rule must be compiled again for the hyperparameters.
        """

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """Makes later steps change nothing if `found_inf` isn't 0. Requires `reads_on_device`."""

    # The halves of a step. They let several parts step together, or none if one refuses.

    def prepare(self, states: States) -> bool:
        """Raises all errors of the step, before anything is changed.

        Returns False if the part must be recreated, because it doesn't fit its parameters any more.
        In that case, or after an error, there is nothing to apply or abandon.
        """

    def apply(self, states: States) -> None:
        """Takes the prepared step. `states` receives the states that it creates."""

    def abandon(self) -> None:
        """Drops the prepared step."""


def step(part: SteppedPart, states: States) -> bool:
    """Steps a part. Returns False, without a step, if it doesn't fit its parameters any more."""
    if not part.prepare(states):
        return False
    part.apply(states)
    return True
