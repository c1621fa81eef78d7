"""Checkpoints of the authors' SOAP (github.com/nikhilvyas/SOAP), for the rule of that name.

Their state of a matrix has a list `GG` of both factors and a list `Q` of both bases, and the values
of two hyperparameters. Their step count starts after the first step, which only makes the bases.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..errors import InvalidArgumentError
from .correspondence import Group
from .matrix_views import MatrixView

#: Their options that the rule doesn't have. They change the sizes of bases, which are checked.
_OTHERS = ("max_precond_dim", "merge_dims", "precondition_1d")
#: Their hyperparameters that each state has, and that count instead of those of the group.
_OF_STATES = ("precondition_frequency", "shampoo_beta")
_SIDES = ("left", "right")


def is_of_authors(state: Any) -> bool:
    """Whether a state of a parameter is one of the authors' optimizer."""
    return isinstance(state, Mapping) and "GG" in state and "Q" in state


def translated(state_dict: dict[str, Any], groups: Sequence[Group]) -> dict[str, Any]:
    """Returns a `state_dict` of the authors' optimizer in the form of the rule's.

    Args:
        state_dict: has the first moments in the basis, as their code since December 2024.
        groups: the parameter groups that load it.

    Raises:
        InvalidArgumentError: a parameter was saved with bases that the rule doesn't have.
    """
    states = dict(state_dict["state"])
    made = []
    for number, saved in enumerate(state_dict["param_groups"]):
        if number >= len(groups) or len(saved["params"]) != len(groups[number]["params"]):
            return state_dict  # torch refuses it.
        mine = groups[number]
        theirs = {}
        for index, param in zip(saved["params"], mine["params"], strict=True):
            if is_of_authors(states.get(index)):
                theirs[index] = states[index]
                states[index] = _state(index, states[index], param.shape, MatrixView.of(mine))
        kept = {name: value for name, value in saved.items() if name not in _OTHERS}
        made.append({**mine, **kept, **_hypers(number, kept, theirs)})
    return {**state_dict, "state": states, "param_groups": made}


def _hypers(number: int, group: Group, states: Mapping[int, Mapping[str, Any]]) -> Group:
    """Returns the hyperparameters of a group that its states have."""
    found = {}
    for name in _OF_STATES:
        values = {state[name] for state in states.values() if name in state}
        if len(values) > 1:
            raise InvalidArgumentError(
                f"parameters of group {number} were saved with several values of `{name}`: "
                f"{', '.join(map(str, sorted(values)))}; set one value in all of them"
            )
        for value in values:
            # A negative one stands for that of the squares.
            same = name == "shampoo_beta" and group[name] < 0 and group["betas"][1] == value
            found[name] = group[name] if same else value
    return found


def _state(
    index: int, state: Mapping[str, Any], shape: torch.Size, view: MatrixView | None
) -> dict[str, Any]:
    """Returns the rule's states of a parameter."""
    sizes = [len(factor) for factor in state["GG"]]
    wanted = _wanted(shape, view)
    if sizes != wanted and not (len(shape) < 2 and not any(sizes)):
        is_flat = len(shape) > 2 and sizes == [shape[0], shape[1:].numel()]
        raise InvalidArgumentError(
            f"parameter {index} of shape {tuple(shape)} was saved with bases of {sizes} rows, but "
            f"here it has {f'bases of {wanted}' if wanted else 'none'}: `SOAP` has one for each "
            "side of a matrix, and none otherwise; "
            + (
                'give its group `matrix_layout="flat"`'
                if is_flat
                else f"remove the state of parameter {index} to start it again"
            )
        )
    made = {
        "step": torch.tensor(float(state["step"] + 1)),
        "exp_avg": state["exp_avg"],
        "exp_avg_sq": state["exp_avg_sq"],
    }
    sides = reversed(_SIDES) if view is not None and view.layout == "transposed" else _SIDES
    for place, side in enumerate(sides if wanted else ()):
        for name in ("GG", "Q"):
            made[f"{name}_{side}"] = state[name][place].contiguous()
    return made


def _wanted(shape: torch.Size, view: MatrixView | None) -> list[int]:
    """The sizes of the authors' bases that a parameter of the rule can have."""
    if view is not None and view.layout == "flat":
        return [shape[0], shape[1:].numel()]
    return [*shape] if len(shape) == 2 else []
