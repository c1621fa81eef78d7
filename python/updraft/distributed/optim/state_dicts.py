"""The states of all workers, as one `state_dict`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from .outcomes import gathered
from .remote import RemoteOptimizer

#: By the index of a parameter, and by name.
States = dict[int, dict[str, Any]]
_STEP = "step"


def packed_states(parts: Any, remotes: Iterable[RemoteOptimizer]) -> States:
    """Returns the states that workers have, by the indices of parameters.

    Args:
        parts: how workers are asked; `CompiledParts` or `EagerParts`.
    """
    futures = {remote: parts.states(remote) for remote in remotes}
    answers = gathered(
        {remote.worker.name: future for remote, future in futures.items()}, "there are no states of"
    )
    states: States = {}
    for remote in futures:
        states |= parts.packed(remote, answers[remote.worker.name])
    return dict(sorted(states.items()))


def _as_tensor(number: int, name: str, value: Any) -> torch.Tensor:
    if isinstance(value, bool) or not isinstance(value, torch.Tensor | int | float):
        raise TypeError(
            f"the state `{name}` of parameter {number} is {type(value)}; it is a tensor or a number"
        )
    if not isinstance(value, torch.Tensor):
        return torch.tensor(float(value))
    return value.detach().to_dense() if value.is_sparse else value.detach()


def unpacked_states(parts: Any, state_dict: Mapping[str, Any]) -> States:
    """Returns the states of a `state_dict` by the indices that parameters have here.

    Raises:
        ValueError: there is one that the class has not, or of no parameter.
    """
    names = parts.state_names
    saved = [number for group in state_dict["param_groups"] for number in group["params"]]
    indices = {number: index for index, number in enumerate(saved)}
    states: States = {}
    for key, given in state_dict["state"].items():
        if key not in indices:
            raise ValueError(f"there are states of parameter {key!r}, which no group has")
        index = indices[key]
        state = {
            name: _as_tensor(index, name, value)
            for name, value in given.items()
            if value is not None
        }
        for name in state:
            if names is not None and name not in names:
                raise ValueError(
                    f"parameter {index} has a state `{name}`; its class has "
                    + ", ".join(f"`{known}`" for known in names)
                )
        if state and parts.counts_steps and _STEP not in state:
            raise ValueError(f"parameter {index} has states, and no step count, `{_STEP}`")
        if state:
            states[index] = state
    return states


def load_states(parts: Any, remotes: Sequence[RemoteOptimizer], states: States) -> None:
    """Gives the workers' parts the states of their parameters.

    Raises:
        ValueError: what a worker says.
    """
    gathered(
        {
            remote.worker.name: parts.load_states(
                remote,
                {number: states[number] for _, number in remote.members if number in states},
            )
            for remote in remotes
        },
        "states are not loaded on",
    )
