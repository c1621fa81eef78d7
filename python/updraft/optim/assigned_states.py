"""A mapping that the caller assigned to `optimizer.state`."""

from collections.abc import Iterable
from typing import Any

import torch

from .states import ComparedStates, Generation, OptimizerState, StateSource


class AssignedStates(ComparedStates):
    """Wraps a mapping that the caller assigned to `optimizer.state`.

    Such a mapping doesn't count its changes, so a step enters new states immediately.
    """

    others = True

    def __init__(self, generation: Generation, mapping: Any) -> None:
        super().__init__()
        self.generation = generation
        self.mapping = mapping
        self.settle()

    def __len__(self) -> int:
        return len(self.mapping)

    def of_param(self, param: torch.Tensor) -> Any:
        """See `OptimizerState`."""
        return self.mapping.get(param)

    def expect(self, source: StateSource) -> None:
        """Enters the states of `source`."""
        for param, made in source.take_states():
            try:
                state = self.mapping[param]
            except KeyError:
                state = self.mapping[param] = {}
            state.update(made)

    def fill(self) -> None:
        """See `OptimizerState`. Does nothing, because all states are entered already."""

    def _compared(self) -> Iterable[tuple[Any, Any]]:
        return self.mapping.items()

    def plain(self) -> Any:
        """Returns the mapping itself, as `torch.optim` has it."""
        return self.mapping


#: The mapping in which a step finds the states of its parameters.
States = OptimizerState | AssignedStates
