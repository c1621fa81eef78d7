"""The types of states: existing states keep theirs, and new scalars have torch's."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import torch

from ..compiled_rule import CompiledRule
from ..errors import InvalidArgumentError
from .correspondence import Correspondence, Group

FLOATS = {
    "f32": torch.float32,
    "f64": torch.float64,
    "bf16": torch.bfloat16,
    "f16": torch.float16,
}
STORAGE = {dtype: name for name, dtype in FLOATS.items()} | {
    # Stored as pairs of real numbers.
    torch.complex64: "f32",
    torch.complex128: "f64",
}
_Part = TypeVar("_Part")


def scalar_dtype(group: Group | None = None) -> torch.dtype:
    """The type of torch's scalar states, such as `mu_product`; with a group, of its step counts."""
    if group is not None and group.get("fused"):
        return torch.float32
    return torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32


class OtherStatesError(Exception):
    """Parameters have states of other types than the rule was compiled for.

    Attributes:
        types: for each parameter, the types to compile the rule for.
    """

    def __init__(self, types: Sequence[Mapping[str, str]]) -> None:
        super().__init__()
        self.types = types


def require_state_types(
    correspondence: Correspondence,
    rule: CompiledRule,
    numbers: Sequence[int],
    states: Sequence[Mapping[str, Any]],
) -> None:
    """Refuses a rule that was compiled for types other than those of the states.

    States whose type the user has chosen are converted, so they aren't checked.

    Args:
        correspondence: the correspondence that the rule was compiled for.
        rule: the compiled rule.
        numbers: the parameters' numbers in messages.
        states: the states of each parameter; empty if it doesn't have any.

    Raises:
        OtherStatesError: the rule must be compiled for other types.
        InvalidArgumentError: a state's type isn't a storage type.
    """
    chosen = correspondence.storage
    if "state" in chosen:
        return
    expected = {
        name: stored
        for name, stored in rule.states.items()
        # States in blocks are pairs of codes and scales.
        if stored in FLOATS and name not in chosen
    }
    others: list[dict[str, str]] = []
    for number, state in zip(numbers, states, strict=True):
        found = {
            name: _type_of(number, name, value)
            for name, value in state.items()
            if name in expected and isinstance(value, torch.Tensor) and name + ".scale" not in state
        }
        others.append({name: stored for name, stored in found.items() if stored != expected[name]})
    if any(others):
        raise OtherStatesError([{**correspondence.state_types, **other} for other in others])


def _type_of(number: int, name: str, value: torch.Tensor) -> str:
    if value.dtype not in STORAGE:
        raise InvalidArgumentError(
            f"the state `{name}` of parameter {number} is {value.dtype}; give it in "
            + ", ".join(str(dtype) for dtype in FLOATS.values())
        )
    return STORAGE[value.dtype]


def made_by_state_types(
    correspondence: Correspondence,
    params: Sequence[torch.Tensor],
    numbers: Sequence[int],
    make: Callable[[Correspondence, list[torch.Tensor], list[int]], _Part],
) -> list[_Part]:
    """Returns the parts of a step: one for each combination of state types.

    Parameters without states get new ones in torch's types.
    """
    if correspondence.scalars and scalar_dtype() == torch.float64:
        scalars = [name for name in correspondence.scalars if not correspondence.is_chosen(name)]
        correspondence = _with_types(correspondence, dict.fromkeys(scalars, "f64"))
    try:
        return [make(correspondence, list(params), list(numbers))]
    except OtherStatesError as error:
        types = error.types
    parts: dict[tuple[tuple[str, str], ...], tuple[list[torch.Tensor], list[int]]] = {}
    for param, number, its_types in zip(params, numbers, types, strict=True):
        some_params, some_numbers = parts.setdefault(tuple(sorted(its_types.items())), ([], []))
        some_params.append(param)
        some_numbers.append(number)
    return [
        make(_with_types(correspondence, dict(its_types)), *members)
        for its_types, members in parts.items()
    ]


def _with_types(correspondence: Correspondence, types: Mapping[str, str]) -> Correspondence:
    return dataclasses.replace(correspondence, state_types=types)
