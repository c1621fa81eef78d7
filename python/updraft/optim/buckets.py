"""Parameters that one compiled rule steps together."""

from pathlib import Path
from typing import Any

import torch

from ..compiler import Rule, compile_file
from .adapter import GroupStepper
from .correspondence import Correspondence, Group, reader
from .states import OptimizerState

RULES = Path(__file__).resolve().parent.parent / "rules"

_STORAGE = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.bfloat16: "bf16",
    torch.float16: "f16",
    # As pairs of real numbers.
    torch.complex64: "f32",
    torch.complex128: "f64",
}


def _compile(
    correspondence: Correspondence, settings: dict[str, Any], dtype: torch.dtype, scaled: bool
) -> Rule:
    if dtype not in _STORAGE:
        raise NotImplementedError(
            f"a parameter has the dtype {dtype}; there are compiled steps for "
            + ", ".join(str(known) for known in _STORAGE)
        )
    file = RULES / correspondence.file
    rule = f"unscale |> {correspondence.rule}" if scaled else None
    storage = dict.fromkeys(("param", "grad", "state"), _STORAGE[dtype])
    return compile_file(file, rule=rule, set=settings, storage=storage, numerics="torch")


# What a step returns.
_FRESH, _MOVED = 1, 2


class Bucket:
    """The parameters of a group that have the same dtype."""

    def __init__(
        self,
        correspondence: Correspondence,
        settings: dict[str, Any],
        dtype: torch.dtype,
        params: list[torch.Tensor],
        group: Group,
        states: OptimizerState,
        scaled: bool,
    ) -> None:
        self.remade = lambda group, states: Bucket(
            correspondence, settings, dtype, params, group, states, scaled
        )
        self.params = params
        self.dtype = dtype
        self.rule = _compile(correspondence, settings, dtype, scaled)
        self.read_hypers = [reader(place) for place in correspondence.hypers.values()]
        # The first hyperparameter of a chain is that of its first stage.
        initial = self.hypers(group, 1.0 if scaled else None)
        refusal = correspondence.sparse or ""
        self.stepper = GroupStepper(self.rule._compiled.address, params, initial, refusal)
        self.states = [name for name in correspondence.states if self._has(name)]
        for number, param in enumerate(params):
            state = states.get(param)
            if state:
                self._bind(number, state)

    def _has(self, state: str) -> bool:
        return state == "step" or state in self.rule.states

    def hypers(self, group: Group, inverse_scale: float | None) -> list[float]:
        """Reads the hyperparameters, which may be tensors of one element."""
        values = [float(read(group, self.dtype)) for read in self.read_hypers]
        return values if inverse_scale is None else [inverse_scale, *values]

    def step(self, group: Group, states: OptimizerState, inverse_scale: float | None) -> bool:
        """Steps every parameter that has a gradient; False if one has other memory than before.

        Nothing is done then.
        """
        outcome = self.stepper.step(self.hypers(group, inverse_scale))
        if outcome == _FRESH:
            self._take_states(states)
        return outcome != _MOVED

    def _bind(self, number: int, state: dict[str, Any]) -> None:
        for name in self.states:
            value = state.get(name)
            if value is None:
                continue
            if name == "step":
                self.stepper.bind_step_count(number, value)
            else:
                self.stepper.bind_state(number, name, value)

    def _take_states(self, states: OptimizerState) -> None:
        """Shows the states that parameters have got."""
        fresh = self.stepper.take_fresh()
        taken: list[dict[str, torch.Tensor]] = [{} for _ in fresh]
        for name in self.states:
            if name == "step":
                numbers, tensors = range(len(fresh)), self.stepper.step_counts(fresh)
            else:
                numbers, tensors = self._states(fresh, name)
            for number, tensor in zip(numbers, tensors, strict=True):
                taken[number][name] = tensor
        for number, state in zip(fresh, taken, strict=True):
            if state:
                states[self.params[number]] = state

    def _states(self, fresh: list[int], name: str) -> tuple[Any, list[torch.Tensor]]:
        try:
            return range(len(fresh)), self.stepper.states(fresh, name)
        except IndexError:
            # A state that only matrices have, or only vectors.
            having = [i for i, param in enumerate(fresh) if self.stepper.has_state(param, name)]
            return having, self.stepper.states([fresh[i] for i in having], name)
