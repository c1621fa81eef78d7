"""The states of all workers as one `state_dict`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .execution import Execution
from .outcomes import gathered
from .remote import RemoteOptimizer

#: By parameter index, and by name.
States = dict[int, dict[str, Any]]
_STEP = "step"
_SCALE = ".scale"


def packed_states(execution: Execution, remotes: Iterable[RemoteOptimizer]) -> States:
    """Returns the workers' states, by parameter index."""
    futures = {remote: execution.states(remote) for remote in remotes}
    answers = gathered(
        {remote.worker.name: future for remote, future in futures.items()}, "cannot read states on"
    )
    states: States = {}
    for remote in futures:
        states |= execution.packed(remote, answers[remote.worker.name])
    return dict(sorted(states.items()))


def unpacked_states(execution: Execution, state_dict: Mapping[str, Any]) -> States:
    """Returns the states of a `state_dict`, by the parameters' indices here.

    Raises:
        ValueError: the class doesn't have a state, or a state's parameter doesn't exist.
    """
    names = execution.state_names
    saved = [key for group in state_dict["param_groups"] for key in group["params"]]
    indices = {key: index for index, key in enumerate(saved)}
    states: States = {}
    for key, given in state_dict["state"].items():
        if key not in indices:
            raise ValueError(f"the states of parameter {key!r} belong to no group")
        index = indices[key]
        state = execution.unpacked(index, given)
        for name in state:
            # A class whose steps don't depend on the step count may have saved it, for probes.
            if names is not None and name not in (*names, _STEP):
                raise ValueError(
                    f"parameter {index} has a state `{name}`; its class has "
                    + ", ".join(f"`{known}`" for known in names)
                )
        if state and execution.counts_steps and _STEP not in state:
            raise ValueError(f"parameter {index} has states but no step count `{_STEP}`")
        if state:
            states[index] = state
    return states


def split_states(
    execution: Execution, remotes: Iterable[RemoteOptimizer], states: States
) -> tuple[States, States]:
    """Splits states into those that steps use, and those of flags that are not set now."""
    groups = {index: group for remote in remotes for group, index in remote.members}
    used: States = {}
    others: States = {}
    for index, state in states.items():
        names = execution.used_states(groups[index])
        for name, value in state.items():
            # The worker reports codes without scales.
            is_used = names is None or name in names or name.endswith(_SCALE)
            (used if is_used else others).setdefault(index, {})[name] = value
    return used, others


def merged_states(states: States, others: States) -> States:
    """Returns states, with missing ones from others."""
    return {
        index: others.get(index, {}) | states.get(index, {})
        for index in sorted(states.keys() | others.keys())
    }


def load_states(execution: Execution, remotes: Sequence[RemoteOptimizer], states: States) -> None:
    """Loads states into the workers' optimizers.

    Raises:
        ValueError: a worker refuses a state.
    """
    gathered(
        {
            remote.worker.name: execution.load_states(
                remote,
                {index: states[index] for _, index in remote.members if index in states},
            )
            for remote in remotes
        },
        "states are not loaded on",
    )
