"""What a step goes through: the parts of a group that are stepped in one way."""

from typing import Protocol

import torch

from .assigned_states import States
from .correspondence import Group
from .devices import GradientScale


class SteppedPart(Protocol):
    """Some parameters of a group, and what steps them.

    Attributes:
        params: the parameters, as the group has them.
        numbers: their numbers among all parameters of the optimizer.
        reads_on_device: whether a step reads where the parameters are what makes it change nothing.
        calls_operators: whether a step is operators of torch, which tensors may intercept.
    """

    params: list[torch.Tensor]
    numbers: list[int]

    @property
    def reads_on_device(self) -> bool:
        """See the attributes above."""

    @property
    def calls_operators(self) -> bool:
        """See the attributes above."""

    def accept(self, group: Group, factor: float | GradientScale | None) -> None:
        """Takes what the group has now for the steps that follow; comes before the first of them.

        Args:
            group: the parameter group.
            factor: what gradients are multiplied by; None for 1.

        Raises:
            ValueError: the rule must be compiled again for the hyperparameters.
        """

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """Has the steps that follow change nothing that find this other than 0, if they read it."""

    # The halves of a step, of several parts that are stepped all or none.

    def prepare(self, states: States) -> bool:
        """Raises the errors that a step would raise, and changes nothing.

        False if a parameter is not what this was made for: another is to be made then. In this
        case, and where it raises, there is nothing to apply or to abandon.
        """

    def apply(self, states: States) -> None:
        """Does what was prepared; `states` is told of those that it makes."""

    def abandon(self) -> None:
        """Drops what was prepared."""


def step(part: SteppedPart, states: States) -> bool:
    """Steps a part; False if nothing was done, because a parameter is not what it was made for."""
    if not part.prepare(states):
        return False
    part.apply(states)
    return True
