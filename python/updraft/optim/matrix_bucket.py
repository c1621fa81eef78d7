"""Parameters whose matrices one compiled rule steps together."""

import itertools
from collections.abc import Iterator
from typing import Any

import torch

from ..errors import UnsupportedError
from .assigned_states import States
from .correspondence import Correspondence
from .matrix_views import MatrixView
from .rule_interface import RuleInterface
from .stand_ins import (
    StandIn,
    StandInBucket,
    WholeParametersError,
    is_distributed,
    memory_layout,
)
from .states import enter


class _Matrices:
    """The matrices of a parameter and of its gradient."""

    def __init__(self, param: torch.Tensor, view: MatrixView) -> None:
        self.param, self.view = param, view
        self.known = memory_layout(param)
        self.slices = view.slices(param.detach())
        self.gradients: list[torch.Tensor] = []

    def take_gradients(self, grad: torch.Tensor) -> None:
        """Splits the gradient of a step."""
        if grad.layout != torch.strided:
            raise UnsupportedError(
                f"a gradient of layout {grad.layout} can't be split into matrices; give dense "
                "gradients to groups with `matrix_blocks` or `matrix_layout`"
            )
        self.gradients = self.view.matrices(grad)


class _MatrixStandIn(StandIn):
    """One matrix of a parameter. The first one does what is done once for all of them."""

    def __init__(self, matrices: _Matrices, place: int) -> None:
        self.matrices, self.place = matrices, place
        super().__init__(matrices.param, in_order=True)
        if matrices.view.layout == "flat":
            self.tensor = self.tensor.flatten(1)

    def _local(self) -> torch.Tensor:
        return self.matrices.slices[self.place]

    def has_moved(self) -> bool:
        """See `StandIn`."""
        return self.place == 0 and memory_layout(self.param) != self.matrices.known

    def gradient(self) -> torch.Tensor | None:
        """See `StandIn`."""
        if self.place == 0:
            grad = super().gradient()
            if grad is None:
                self.matrices.gradients = []
            else:
                self.matrices.take_gradients(grad)
        gradients = self.matrices.gradients
        return gradients[self.place] if gradients else None


def _has_all(whole: torch.Tensor, parts: list[torch.Tensor]) -> bool:
    """Whether the parts are views of the whole."""
    memory = whole.untyped_storage().data_ptr()
    return all(part.untyped_storage().data_ptr() == memory for part in parts)


class MatrixBucket(StandInBucket):
    """A bucket that steps the matrices of parameters, each as a parameter of its own.

    `optimizer.state` has the states of whole parameters: those of the matrices, one below the
    other. All matrices of a parameter draw the same random numbers.
    """

    def __init__(
        self, view: MatrixView, correspondence: Correspondence, params: list[Any], *rest: Any
    ) -> None:
        self.view = view
        counts = [len(view.rows(param.shape)) for param in params]
        ends = itertools.accumulate(counts)
        #: For each parameter, the numbers of its matrices.
        self.matrices = [range(end - n, end) for end, n in zip(ends, counts, strict=True)]
        #: For each parameter, the step counts of the first matrix and of the others.
        self.counts: dict[int, tuple[torch.Tensor, list[torch.Tensor]]] = {}
        super().__init__(correspondence, params, *rest)

    def _tensors(self, params: list[torch.Tensor]) -> list[torch.Tensor]:
        if any(map(is_distributed, params)):
            # Blocks of rows aren't those of ranks.
            raise WholeParametersError(self.rule.name, True, params)
        if len(self.rule.stored_states) > len(self.rule.states):
            raise UnsupportedError(
                f"the rule `{self.rule.name}` keeps states in blocks or with corrections, which "
                "can't be split into matrices; choose another `storage`, or give the parameters a "
                "group without `matrix_blocks` and `matrix_layout`"
            )
        squares = RuleInterface(self.rule).square_states
        if squares and any(len(matrices) > 1 for matrices in self.matrices):
            raise UnsupportedError(
                f"the rule `{self.rule.name}` has the state `{min(squares)}` of square matrices, "
                "which `matrix_blocks` can't split; give each block a parameter of its own"
            )
        wholes = [_Matrices(param, self.view) for param in params]
        self.stand_ins = [
            _MatrixStandIn(whole, place) for whole in wholes for place in range(len(whole.slices))
        ]
        return [stand_in.tensor for stand_in in self.stand_ins]

    @torch.no_grad()
    def prepare(self, states: States) -> bool:
        """See `SteppedPart`."""
        # Users see the step count of the first matrix, and may change it. The others are alike.
        for first, others in self.counts.values():
            if others and first != others[0]:
                for other in others:
                    other.copy_(first)
        return super().prepare(states)

    def _owners(self) -> list[int]:
        return [i for i, matrices in enumerate(self.matrices) for _ in matrices]

    # Neither a parameter nor its states are DTensors.

    def _memory(self, number: int, state: Any) -> Any:
        return state

    def _shown(self, number: int, name: str, state: torch.Tensor) -> torch.Tensor:
        return state

    def _bind(self, number: int, state: dict[str, Any]) -> None:
        shape = self.params[number].shape
        parts: list[dict[str, Any]] = [{} for _ in self.matrices[number]]
        for name, value in state.items():
            if name == "step":
                # Each matrix counts its own steps.
                values = [value, *(torch.as_tensor(value).clone() for _ in parts[1:])]
            elif isinstance(value, torch.Tensor):
                values = self.view.parts(value, shape, name in self._element_states)
            else:
                values = [value] * len(parts)  # Refused below.
            for part, each in zip(parts, values, strict=True):
                part[name] = each
        given = [dict(part) for part in parts]
        for matrix, part in zip(self.matrices[number], parts, strict=True):
            super()._bind(matrix, part)
        for name, value in state.items():
            mine = [part[name] for part in parts]
            moved = any(one is not other[name] for one, other in zip(mine, given, strict=True))
            if name == "step" and isinstance(mine[0], torch.Tensor):
                self.counts[number] = mine[0], mine[1:]
            if moved or (isinstance(value, torch.Tensor) and not _has_all(value, mine)):
                whole = self._joined(number, name, mine)
                enter(state, {name: whole}, self.generation)

    def _joined(self, number: int, name: str, parts: list[torch.Tensor]) -> torch.Tensor:
        """Returns the state of a parameter, and makes its matrices use that memory."""
        if name == "step":
            self.counts[number] = parts[0], parts[1:]
            return parts[0]
        shape = self.params[number].shape
        is_element = name in self._element_states
        whole = self.view.joined(parts, shape, is_element)
        if len(parts) > 1:
            pieces = self.view.parts(whole, shape, is_element)
            for matrix, piece in zip(self.matrices[number], pieces, strict=True):
                self.stepper.bind_state(matrix, name, piece)
        return whole

    def take_states(self) -> Iterator[tuple[torch.Tensor, dict[str, Any]]]:
        """See `StateSource`."""
        fresh, taken = self._taken()
        made = dict(zip(fresh, taken, strict=True))
        for number, matrices in enumerate(self.matrices):
            if matrices[0] not in made:
                continue
            parts = [made[matrix] for matrix in matrices]
            state = {
                name: self._joined(number, name, [part[name] for part in parts])
                for name in parts[0]
            }
            if state:
                yield self.params[number], state
            for matrix in matrices:
                self.fresh.remove(matrix)
