"""The types of states. Existing states keep their types, and new scalar states have torch's."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import torch

from ..compiled_rule import CompiledRule
from ..errors import InvalidArgumentError
from .correspondence import Correspondence, Group
from .rule_interface import RuleInterface

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
#: The storage types that keep a state in two tensors.
IN_TWO_TENSORS = {"q8_linear", "q8_companded", "bf16_corrected"}
#: Endings of the second tensor's name, with descriptions for messages.
_SECOND_TENSORS = {
    ".scale": "is in blocks of codes, with their scales in",
    "_correction": "has corrections in",
}
_REMEDY = "; give the optimizer the `storage` that the state was made with"
#: The entry of a packed parameter group that has the codes of states in blocks.
_CODES = "storage"
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


def require_complex_storage(correspondence: Correspondence, rule: CompiledRule) -> None:
    """Refuses storage types for which torch lacks a complex type.

    Existing states in these types are pairs of numbers, so they aren't refused.
    """
    elements = RuleInterface(rule).element_states
    for name, stored in rule.states.items():
        chosen = correspondence.chosen(name)
        if name in elements and chosen is not None and stored not in ("f32", "f64", "f16"):
            raise InvalidArgumentError(
                f"expected f32, f64 or f16 for the state `{name}` of complex parameters, "
                f"got {chosen}"
            )


def _require_no_other_storage(rule: CompiledRule, state: Mapping[str, Any]) -> None:
    """Refuses a state whose second tensor the rule doesn't read."""
    types = {"param": rule.param_dtype, **rule.states}
    for name, stored in types.items():
        for ending, description in _SECOND_TENSORS.items():
            second = name + ending
            if second in state and second not in rule.stored_states:
                what = "the parameter" if name == "param" else f"the state `{name}`"
                raise InvalidArgumentError(
                    f"{what} {description} `{second}`, but the rule `{rule.name}` stores it as "
                    f"{stored} here{_REMEDY}"
                )


def refusal_of_numbers(rule: CompiledRule, name: str) -> InvalidArgumentError:
    """Returns the error for a state without scales, which the rule stores in blocks."""
    return InvalidArgumentError(
        f"the state `{name}` is not in blocks of codes, but the rule `{rule.name}` stores it as "
        f"{rule.states[name]} here{_REMEDY}"
    )


def name_codes(optimizer: Any, packed: dict[str, Any]) -> None:
    """Adds the codes of states in blocks to the groups of a `state_dict`."""
    correspondence = _with_blocks(optimizer)
    if correspondence is None:
        return
    for group in packed["param_groups"]:
        states = [packed["state"].get(number, {}) for number in group["params"]]
        chosen = {
            name: str(correspondence.chosen(name))
            for state in states
            for name in state
            if name + ".scale" in state
        }
        codes = {name: code for name, code in chosen.items() if code.startswith("q8_")}
        if codes:
            group[_CODES] = codes


def require_codes(optimizer: Any, packed: dict[str, Any]) -> None:
    """Refuses a `state_dict` with states in other codes. Older dicts don't name the codes."""
    correspondence = _with_blocks(optimizer)
    if correspondence is None:
        return
    for group in packed["param_groups"]:
        for name, code in _codes_of(group).items():
            mine = str(correspondence.chosen(name))
            if mine != code and mine.startswith("q8_"):
                raise InvalidArgumentError(
                    f"the state `{name}` is in blocks of {code} codes, but the optimizer stores it "
                    f"as {mine}{_REMEDY}"
                )


def drop_codes(groups: Iterable[Group]) -> None:
    """Removes the entries of `name_codes` from loaded groups."""
    for group in groups:
        if _codes_of(group):
            del group[_CODES]


def _with_blocks(optimizer: Any) -> Correspondence | None:
    """Returns an optimizer's correspondence, or None if it doesn't store states in blocks."""
    correspondence: Correspondence | None = getattr(optimizer, "correspondence", None)
    chosen = correspondence.storage.values() if correspondence else ()
    return correspondence if any(str(each).startswith("q8_") for each in chosen) else None


def _codes_of(group: Group) -> dict[str, str]:
    codes: Any = group.get(_CODES)
    # A caller may have an entry of the same name.
    known = isinstance(codes, dict) and all(str(code).startswith("q8_") for code in codes.values())
    return dict(codes) if known else {}


def require_state_types(
    correspondence: Correspondence,
    rule: CompiledRule,
    numbers: Sequence[int],
    states: Sequence[Mapping[str, Any]],
) -> None:
    """Refuses states of another storage, and a rule that was compiled for types other than those of
    the states.

    States whose type the user has chosen are converted, so they aren't checked.

    Args:
        correspondence: the correspondence that the rule was compiled for.
        rule: the compiled rule.
        numbers: the parameters' numbers in messages.
        states: the states of each parameter; empty if it doesn't have any.

    Raises:
        OtherStatesError: the rule must be compiled for other types.
        InvalidArgumentError: a state's type isn't a storage type, or the state has a second tensor
            that the rule doesn't read.
    """
    # The second rule of a split step has no states of its own. These are the first rule's.
    for state in states if correspondence.states != () else ():
        _require_no_other_storage(rule, state)
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
            if name in expected and isinstance(value, torch.Tensor)
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
    make: Callable[..., _Part],
    *arguments: Any,
) -> list[_Part]:
    """Returns the parts of a step: one for each combination of state types.

    Parameters without states get new ones in torch's types.
    """
    if correspondence.scalars and scalar_dtype() == torch.float64:
        scalars = [name for name in correspondence.scalars if not correspondence.is_chosen(name)]
        correspondence = _with_types(correspondence, dict.fromkeys(scalars, "f64"))
    try:
        return [make(correspondence, list(params), list(numbers), *arguments)]
    except OtherStatesError as error:
        types = error.types
    parts: dict[tuple[tuple[str, str], ...], tuple[list[torch.Tensor], list[int]]] = {}
    for param, number, its_types in zip(params, numbers, types, strict=True):
        some_params, some_numbers = parts.setdefault(tuple(sorted(its_types.items())), ([], []))
        some_params.append(param)
        some_numbers.append(number)
    return [
        make(_with_types(correspondence, dict(its_types)), *members, *arguments)
        for its_types, members in parts.items()
    ]


def _with_types(correspondence: Correspondence, types: Mapping[str, str]) -> Correspondence:
    return dataclasses.replace(correspondence, state_types=types)
