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
        self.sources: list[StateSource] = []
        self.settle()

    def __len__(self) -> int:
        return len(self.mapping)

    def of_param(self, param: torch.Tensor) -> Any:
        """See `OptimizerState`."""
        return self.mapping.get(param)

    def expect(self, *sources: StateSource) -> None:
        """Enters the states of sources."""
        self.sources += [source for source in sources if source not in self.sources]
        self.fill()

    def fill(self) -> None:
        """Enters the states that an exception kept `expect` from entering."""
        while self.sources:
            for param, made in self.sources[0].take_states():
                try:
                    state = self.mapping[param]
                except KeyError:
                    state = self.mapping[param] = {}
                state.update(made)
            del self.sources[0]

    def look(self) -> None:
        """See `ComparedStates`."""
        self.fill()
        super().look()

    def _compared(self) -> Iterable[tuple[Any, Any]]:
        return self.mapping.items()

    def plain(self) -> Any:
        """Returns the mapping itself, as `torch.optim` has it."""
        return self.mapping


#: The mapping in which a step finds the states of its parameters.
States = OptimizerState | AssignedStates
