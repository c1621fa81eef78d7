"""A mapping that the caller assigned to `optimizer.state`."""

from typing import Any

import torch

from .states import Generation, OptimizerState, StateSource, contents_of, is_same


class AssignedStates:
    """Wraps a mapping that the caller assigned to `optimizer.state`.

    Such a mapping does not count its changes. So each step compares its contents with those after
    the step before, and enters new states at once.
    """

    others = True

    def __init__(self, generation: Generation, mapping: Any) -> None:
        self.generation = generation
        self.mapping = mapping
        self.known: list[Any] = []
        self.settle()

    def __len__(self) -> int:
        return len(self.mapping)

    def of_param(self, param: torch.Tensor) -> Any:
        """See `OptimizerState`."""
        return self.mapping.get(param)

    def expect(self, source: StateSource) -> None:
        """Enters what `source` has."""
        for param, made in source.take_states():
            try:
                state = self.mapping[param]
            except KeyError:
                state = self.mapping[param] = {}
            state.update(made)

    def fill(self) -> None:
        """See `OptimizerState`. Does nothing: all states are entered already."""

    def look(self) -> None:
        """Counts a change if the contents are others than before."""
        found = contents_of(self.mapping.items())
        if not is_same(found, self.known):
            self.generation.number += 1
            self.known = found

    def settle(self) -> None:
        """See `OptimizerState`."""
        self.known = contents_of(self.mapping.items())

    def plain(self) -> Any:
        """Returns the mapping itself, as `torch.optim` has it."""
        return self.mapping


#: Where a step finds the states of its parameters.
States = OptimizerState | AssignedStates
