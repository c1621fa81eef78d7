"""What a step goes through: the parts of a group that are stepped in one way."""

from typing import Protocol

import torch

from .correspondence import Group
from .states import OptimizerState


class SteppedPart(Protocol):
    """Some parameters of a group, and what steps them.

    Attributes:
        params: the parameters, as the group has them.
        numbers: their numbers among all parameters of the optimizer.
    """

    params: list[torch.Tensor]
    numbers: list[int]

    def accept(self, group: Group, factor: float | None) -> None:
        """Takes what the group has now for the steps that follow; comes before the first of them.

        Args:
            group: the parameter group.
            factor: what gradients are multiplied by; None for 1.

        Raises:
            ValueError: the rule, as it is compiled, refuses the hyperparameters.
        """

    def step(self, states: OptimizerState) -> bool:
        """Steps every parameter that has a gradient; `states` is told of those that are made.

        False if a parameter is not what this was made for: another is to be made then, as nothing
        was done.
        """
