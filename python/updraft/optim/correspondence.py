"""How a class of `torch.optim` and a rule of the language name the same things."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from ..definition import FileDefinition, RuleDefinition
from ..errors import CompileError, InvalidArgumentError
from ..shipped import require_path

Group = dict[str, Any]
#: An entry of a parameter group, one element of such an entry, or what is computed from the group
#: and the dtype of the parameters.
Place = str | tuple[str, int] | Callable[[Group, torch.dtype], Any]


def reader(place: Place) -> Callable[[Group, torch.dtype], Any]:
    """Returns the function that reads a place of a group."""
    if isinstance(place, str):
        return lambda group, dtype: group[place]
    if isinstance(place, tuple):
        name, index = place
        return lambda group, dtype: group[name][index]
    return place


#: A sparse gradient is taken as the dense one that has zeros elsewhere.
AS_DENSE = "as dense"


@dataclass(frozen=True)
class Correspondence:
    """A class of `torch.optim` as a rule.

    Args:
        rule: the definition of the rule, or the name of one that comes with the package.
        hypers: where a parameter group has each hyperparameter of the rule, in the rule's order.
        settings: where it has what the rule is compiled for: static flags, and hyperparameters that
            flags are derived from. None is for the rule to decide.
        states: the names of the states in torch's order, or None for the rule's; "step" is the step
            count.
        sparse: what torch says to a sparse gradient; None if the rule takes its rows. A function
            where the group decides, which may also return `AS_DENSE`.
        dense: what torch says to any other gradient.
        complex: what torch says to complex parameters; None if they are taken as pairs.
        numerics: how arithmetic rounds.
        storage: storage types that the user has chosen, where they differ from the parameter's.
        state_types: storage types of other states: those of the states that exist.
        scalars: the states that torch makes in its type of scalars: float64 where that is the
            default type, else float32.
        settled: whether no flag follows from hyperparameters, once `settings` are known; a rule
            that is given by its name is such. To find out compiles its defaults.
        tensors: what the rule is compiled for, as of `updraft.compile`; None for the parameters
            that there are.
        divides_by_zero: whether torch's step with a gradient raises ZeroDivisionError for a group.
    """

    rule: RuleDefinition | str
    hypers: Mapping[str, Place]
    settings: Mapping[str, Place]
    states: tuple[str, ...] | None
    sparse: str | Callable[[Group], str | None] | None
    dense: str | None = None
    complex: str | None = None
    numerics: str = "torch"
    storage: Mapping[str, Any] = field(default_factory=dict)
    state_types: Mapping[str, str] = field(default_factory=dict)
    scalars: tuple[str, ...] = ()
    settled: bool = False
    tensors: str | None = None
    divides_by_zero: Callable[[Group], bool] = lambda group: False

    def sparse_of(self, group: Group) -> str | None:
        """What a sparse gradient is taken as in a group: `sparse` for it."""
        return self.sparse(group) if callable(self.sparse) else self.sparse

    @property
    def path(self) -> str:
        """The file of the rule."""
        if isinstance(self.rule, str):
            return require_path(self.rule)
        assert isinstance(self.rule, FileDefinition)
        return self.rule._path

    @property
    def definition(self) -> RuleDefinition:
        """The definition of the rule. Nothing is compiled yet."""
        if isinstance(self.rule, RuleDefinition):
            return self.rule
        return FileDefinition(require_path(self.rule), None, {})

    @property
    def all_storage(self) -> dict[str, Any]:
        """The storage types that the rule is compiled for, beside those of parameters."""
        return {**self.storage, **self.state_types}

    def read_settings(self, group: Group) -> dict[str, Any]:
        """Returns what the rule is compiled for, as of now."""
        settings = {name: reader(place)(group, None) for name, place in self.settings.items()}
        return {name: value for name, value in settings.items() if value is not None}

    def state_names(self, stored: Iterable[str]) -> list[str]:
        """Returns the names of the states that a compiled rule has, in their order."""
        having = ["step", *stored]
        if self.states is None:
            return having
        places = {name: place for place, name in enumerate(self.states)}
        if "step" not in places:
            having.remove("step")
        # The scales of a state in blocks stand behind it, and corrections after all.
        return sorted(having, key=lambda name: places.get(name.partition(".")[0], len(places)))

    def is_chosen(self, name: str) -> bool:
        """Whether the user has chosen how a state is stored."""
        return "state" in self.storage or name.partition(".")[0] in self.storage


def setting_choices(
    correspondence: Correspondence, group: Group, hypers: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Returns what a rule may be compiled for, of which the first that compiles is taken: the
    settings of a group, and the hyperparameters that other flags follow from; or all of them, where
    the defaults of others do not go with the settings; or none of them.

    Where none compiles, what the compiler says of the last but one is what is wrong: the last has
    other hyperparameters than the group. Where only that compiles, and a flag follows from those of
    the group, a step refuses them, and says why.
    """
    settings = correspondence.read_settings(group)
    deciding = {}
    if isinstance(correspondence.rule, RuleDefinition) and not correspondence.settled:
        deciding = correspondence.rule._deciding_values(hypers)
    return [deciding | settings, dict(hypers) | settings, settings]


def specialize(make: Callable[[dict[str, Any]], None], choices: Iterable[dict[str, Any]]) -> None:
    """Calls `make` with one of `setting_choices` after the other, up to one that compiles.

    Raises:
        ValueError: what `make` says.
    """
    refusals: list[CompileError] = []
    for chosen in choices:
        try:
            return make(chosen)
        except CompileError as error:
            refusals.append(error)
    raise refusals[-2]


def require_hypers(places: Mapping[str, Place], group: Group, dtype: torch.dtype) -> None:
    """Refuses a group that lacks a hyperparameter, such as one of a `state_dict` of another class.

    Raises:
        InvalidArgumentError: it has no such entry, or nothing at its place in it.
    """
    for name, place in places.items():
        try:
            reader(place)(group, dtype)
        except (LookupError, TypeError):
            entry, key = f"`{place}`", place
            if isinstance(place, tuple):
                entry, key = f"element {place[1]} of `{place[0]}`", place[0]
            another = "; load a `state_dict` into an optimizer of the class that it is from"
            raise InvalidArgumentError(
                f"the hyperparameter `{name}` is {entry} of a parameter group, and one has "
                + ", ".join(f"`{key}` = {value}" for key, value in group.items() if key != "params")
                + ("" if key in group else another)
            ) from None


def same_names(*names: str) -> dict[str, Place]:
    """Returns places that are called as in the rule."""
    return {name: name for name in names}


def flags(*names: str) -> dict[str, Place]:
    """Returns places of flags that are called as in the rule: torch takes any value for true or
    false.
    """
    return {name: _flag(name) for name in names}


def _flag(name: str) -> Place:
    return lambda group, dtype: bool(group[name])


BETAS: dict[str, Place] = {"beta1": ("betas", 0), "beta2": ("betas", 1)}
