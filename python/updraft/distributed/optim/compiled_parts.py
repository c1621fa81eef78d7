"""How the parts of an optimizer are made and stepped where its rule is compiled."""

import contextlib
from collections.abc import Sequence
from typing import Any

from ...optim.compiled import CompiledStep
from ...optim.correspondence import Group
from . import operators
from .references import stand_ins
from .remote import RemoteOptimizer
from .request import hypers, request


class CompiledParts:
    """Steps parts by operators, which no Python on the workers is waited for.

    Args:
        kind: what makes a compiled optimizer of parameters and options.
        groups: the parameter groups as they were given.
        count_versions: whether autograd is told of steps.
    """

    def __init__(
        self, kind: Any, groups: Sequence[Group], args: Any, kwargs: Any, count_versions: bool
    ) -> None:
        self.template: CompiledStep = kind(stand_ins(groups), *args, **kwargs)
        self.count_versions = count_versions
        self._settings = [self._settings_of(group) for group in self.template.param_groups]

    def _settings_of(self, group: Group) -> dict[str, Any]:
        return self.template.correspondence.read_settings(group)

    @property
    def defaults(self) -> dict[str, Any]:
        """Those of the class."""
        defaults: dict[str, Any] = vars(self.template)["defaults"]
        return defaults

    def load(self, remote: RemoteOptimizer) -> Any:
        """Makes Updraft known on the worker; returns a future."""
        return operators.load_on(remote.worker)

    def create(self, remote: RemoteOptimizer, groups: Sequence[Group]) -> Any:
        """Makes a part; returns a future of what `take` takes."""
        members = [remote.members_of(group) for group in range(len(groups))]
        return remote.create(request(self.template, members, groups, self.count_versions))

    def take(self, remote: RemoteOptimizer, answer: Any) -> None:
        """Takes what the worker has answered."""
        remote.set_parts(answer)

    def asked(self, remote: RemoteOptimizer, groups: Sequence[Group]) -> list[float]:
        """Returns what a step of a part is to be taken with."""
        return [
            value
            for group, storage in remote.parts
            for value in hypers(self.template, groups[group], storage).values()
        ]

    def step(
        self, remote: RemoteOptimizer, asked: list[float], context_id: int, before: int
    ) -> Any:
        """Steps a part; returns a future of the number of parameters that were stepped."""
        return remote.call("step", context_id, before, asked, timeout=remote.timeout)

    @property
    def state_names(self) -> tuple[str, ...] | None:
        """The names of the states that parameters may have; None: whatever the rule has."""
        return self.template.correspondence.states

    @property
    def counts_steps(self) -> bool:
        """Whether a parameter with states has a step count among them."""
        return self.state_names is None or "step" in self.state_names

    def states(self, remote: RemoteOptimizer) -> Any:
        """Asks for the states of a part; returns a future of what `packed` takes."""
        return remote.call("states")

    def packed(self, remote: RemoteOptimizer, answer: Any) -> dict[int, dict[str, Any]]:
        """Returns the states by the indices of parameters, as a `state_dict` has them."""
        states: dict[int, dict[str, Any]] = {}
        for key, value in answer.items():
            number, _, name = key.partition("/")
            states.setdefault(int(number), {})[name] = value
        packed = {}
        for number, state in states.items():
            # The operator has them in the order of their names.
            order = self.state_names or sorted(state, key=lambda name: (name != "step", name))
            shown = {name: state[name] for name in order if name in state}
            if shown:
                packed[number] = self.template.packed_state(shown)
        return packed

    def load_states(self, remote: RemoteOptimizer, states: dict[int, dict[str, Any]]) -> Any:
        """Gives a part that was just made its states; returns a future."""
        flat = {
            f"{number}/{name}": value
            for number, state in states.items()
            for name, value in state.items()
        }
        return remote.call("load_states", flat, [*(self.state_names or ())])

    def accept(self, groups: Sequence[Group]) -> None:
        """Takes the settings of groups that parts were made for."""
        self._settings = [self._settings_of(group) for group in groups]

    def release(self, remotes: Sequence[RemoteOptimizer]) -> None:
        """Gives up what workers have. Does not wait."""
        for remote in remotes:
            # Where RPC was shut down, or this worker is gone.
            with contextlib.suppress(RuntimeError):
                remote.call("release")

    def require_settings(self, groups: Sequence[Group]) -> None:
        """Refuses groups that ask for another step than what was compiled.

        Raises:
            ValueError: a static flag has changed.
        """
        for place, (group, made) in enumerate(zip(groups, self._settings, strict=True)):
            settings = self._settings_of(group)
            for name, value in made.items():
                if settings.get(name) != value:
                    raise ValueError(
                        f"`{name}` of group {place} was {value!r} when the optimizer was made, and "
                        "decides what is compiled on the workers; make another optimizer"
                    )
