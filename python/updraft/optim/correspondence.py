"""Maps the names of a class of `torch.optim` to those of a rule."""

import functools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar

import torch

from ..caller_warnings import warn_caller
from ..definition import FileDefinition, RuleDefinition
from ..errors import CompileError, InvalidArgumentError
from ..shipped import require_path

Group = dict[str, Any]
_Made = TypeVar("_Made")
#: The source of a value: an entry of a parameter group; an entry, an index in it and the number of
#: its elements; or a function of the group and the dtype of the parameters.
Place = str | tuple[str, int, int] | Callable[[Group, torch.dtype], Any]


def reader(place: Place) -> Callable[[Group, torch.dtype], Any]:
    """Returns the function that reads a place in a group."""
    if isinstance(place, str):
        return lambda group, dtype: group[place]
    if isinstance(place, tuple):
        return functools.partial(_element, *place)
    return place


def _element(name: str, index: int, size: int, group: Group, dtype: torch.dtype) -> Any:
    values = group[name]
    if len(values) > size:
        raise InvalidArgumentError(f"`{name}` has {len(values)} elements; give {size}")
    return values[index]


#: Converts a sparse gradient to a dense one with zeros elsewhere.
AS_DENSE = "as dense"


@dataclass(frozen=True)
class Choices:
    """The choices of an optimizer's user, for all of its compilations.

    Args:
        numerics: how arithmetic rounds; None for the rule's own, that of a package or "ieee".
        storage: storage types of states by their names; None for the parameter's.
        probes: probes beside those of the rule.
        probe_every: every how many steps are probed.
    """

    numerics: str | None
    storage: Mapping[str, Any] | None = None
    probes: Sequence[str] = ()
    probe_every: int = 1


def warn_of_choices(group: Any, known: Iterable[str] = ()) -> None:
    """Warns of choices of the whole optimizer in a parameter group, where nothing reads them.

    Args:
        group: a group as a caller gives it.
        known: entries that the rule reads.
    """
    for choice in map(attrgetter("name"), fields(Choices)):
        if isinstance(group, dict) and choice in group and choice not in known:
            warn_caller(
                f"a parameter group has `{choice}`, which only the constructor reads, for all "
                "groups; give it to the constructor"
            )


@dataclass(frozen=True)
class Correspondence:
    """Describes a class of `torch.optim` as a rule.

    Args:
        rule: the definition of the rule, or the name of one that comes with the package.
        hypers: for each hyperparameter of the rule, in order, its place in a parameter group.
        settings: the places of the rule's compile-time settings: static flags, and hyperparameters
            that flags are derived from. None lets the rule decide.
        states: the names of the states in torch's order, or None for the rule's; "step" is the step
            count.
        sparse: torch's error for a sparse gradient; None if the rule takes its rows. A function if
            it depends on the group, which may also return `AS_DENSE`.
        dense: torch's error for any other gradient.
        complex: torch's error for complex parameters; None if they are treated as pairs.
        numerics: how arithmetic rounds; None for the rule's own, that of a package or "ieee".
        storage: storage types that the user has chosen, if they differ from the parameter's.
        state_types: storage types of the other states, taken from existing states.
        scalars: the states with torch's type for scalars: float64 if that is the default type, else
            float32.
        settled: whether no flag is derived from hyperparameters once `settings` are known. A rule
            given by its name always has this property. For other rules, if this is false, finding
            out compiles the rule with its defaults.
        tensors: the tensors to compile the rule for, as in `updraft.compile`; None for those of the
            existing parameters.
        divides_by_zero: whether torch's step with a gradient raises ZeroDivisionError for a group.
    """

    rule: RuleDefinition | str
    hypers: Mapping[str, Place]
    settings: Mapping[str, Place]
    states: tuple[str, ...] | None
    sparse: str | Callable[[Group], str | None] | None
    dense: str | None = None
    complex: str | None = None
    numerics: str | None = "torch"
    storage: Mapping[str, Any] = field(default_factory=dict)
    probes: tuple[str, ...] = ()
    probe_every: int = 1
    state_types: Mapping[str, str] = field(default_factory=dict)
    scalars: tuple[str, ...] = ()
    settled: bool = False
    tensors: str | None = None
    divides_by_zero: Callable[[Group], bool] = lambda group: False

    def sparse_of(self, group: Group) -> str | None:
        """Returns `sparse` for a group."""
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
        """The definition of the rule, not compiled yet."""
        if isinstance(self.rule, RuleDefinition):
            return self.rule
        return FileDefinition(require_path(self.rule), None, {})

    @property
    def all_storage(self) -> dict[str, Any]:
        """The storage types to compile the rule for, except those of parameters."""
        return {**self.storage, **self.state_types}

    @property
    def bf16_storage(self) -> str | None:
        """The storage type that the user has chosen for bf16 parameters, or None."""
        chosen = str(self.storage.get("param"))
        return chosen if chosen.startswith("bf16_") else None

    def require_bf16(self, dtypes: Iterable[torch.dtype]) -> None:
        """Refuses a storage type of bf16 parameters if there are only others.

        Raises:
            InvalidArgumentError: no parameter is bf16, but there are some.
        """
        known = {*dtypes}
        if self.bf16_storage and known and torch.bfloat16 not in known:
            raise InvalidArgumentError(
                f"`storage` has `param` = {self.bf16_storage}, but the parameters are "
                f"{', '.join(sorted(map(str, known)))}; convert them to bfloat16, or leave "
                "`param` out"
            )

    def storage_for(self, dtype: str) -> dict[str, Any]:
        """Returns the storage types to compile the rule for, for parameters of a dtype. A choice
        for bf16 parameters applies only to these.
        """
        chosen = self.all_storage
        if self.bf16_storage and dtype != "bf16":
            del chosen["param"]
        return {"param": dtype, "grad": dtype} | chosen

    def draws_numbers(self, dtype: str) -> bool:
        """Whether steps of parameters of a dtype round by random numbers."""
        return "bf16_stochastic" in map(str, self.storage_for(dtype).values())

    def read_settings(self, group: Group) -> dict[str, Any]:
        """Returns the current compile-time settings of the rule."""
        settings = {name: reader(place)(group, None) for name, place in self.settings.items()}
        return {name: value for name, value in settings.items() if value is not None}

    def state_names(self, stored: Iterable[str]) -> list[str]:
        """Returns the names of a compiled rule's states, in order."""
        having = ["step", *stored]
        if self.states is None:
            return having
        places = {name: place for place, name in enumerate(self.states)}
        if "step" not in places:
            having.remove("step")
        # The scales of a state in blocks follow it, and corrections come last.
        return sorted(having, key=lambda name: places.get(name.partition(".")[0], len(places)))

    def chosen(self, name: str) -> Any:
        """Returns the storage type that the user has chosen for a state, or None."""
        return self.storage.get(name.partition(".")[0], self.storage.get("state"))

    def is_chosen(self, name: str) -> bool:
        """Whether the user has chosen the storage type of a state."""
        return self.chosen(name) is not None


def setting_choices(
    correspondence: Correspondence, group: Group, hypers: Mapping[str, float]
) -> list[dict[str, Any]]:
    """Returns candidate settings to compile a rule with; the first that compiles is used.

    All have the settings of the group. They also have, in order:
      - the hyperparameters that other flags are derived from;
      - all hyperparameters, in case the defaults of others conflict with the settings;
      - no hyperparameters.

    If none compiles, the error of the second to last describes the problem, because the last has
    other hyperparameters than the group. If only the last compiles, and a flag is derived from the
    group's hyperparameters, a step refuses them with the reason.
    """
    settings = correspondence.read_settings(group)
    deciding = {}
    if isinstance(correspondence.rule, RuleDefinition) and not correspondence.settled:
        deciding = correspondence.rule._deciding_values(hypers)
    return [deciding | settings, dict(hypers) | settings, settings]


def specialize(make: Callable[[dict[str, Any]], _Made], choices: Iterable[dict[str, Any]]) -> _Made:
    """Calls `make` with each of `setting_choices`, until one compiles. Returns the result.

    Raises:
        ValueError: the error of `make`.
    """
    refusals: list[CompileError] = []
    for chosen in choices:
        try:
            return make(chosen)
        except CompileError as error:
            refusals.append(error)
    raise refusals[-2]


def require_hypers(places: Mapping[str, Place], group: Group, dtype: torch.dtype) -> None:
    """Refuses a group that lacks a hyperparameter, or has another thing than a number in its place.
    A group from a `state_dict` of another class can lack one.

    Raises:
        InvalidArgumentError: the entry or the element is missing, or a tensor of several elements.
        TypeError: the value isn't a number.
    """
    for name, place in places.items():
        try:
            value = reader(place)(group, dtype)
        except (LookupError, TypeError):
            entry, key = f"`{place}`", place
            if isinstance(place, tuple):
                entry, key = f"element {place[1]} of `{place[0]}`", place[0]
            another = "; load a `state_dict` of the same class"
            raise InvalidArgumentError(
                f"cannot read the hyperparameter `{name}` from {entry} of a parameter group with "
                + ", ".join(f"`{key}` = {value}" for key, value in group.items() if key != "params")
                + ("" if key in group else another)
            ) from None
        _require_number(name, value)


def _require_number(name: str, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        if value.numel() != 1:
            raise InvalidArgumentError(
                f"hyperparameter `{name}` is a tensor of {value.numel()} elements; give a number, "
                "or a tensor of one"
            )
        if value.is_complex():
            raise TypeError(f"hyperparameter `{name}` is {value.dtype}; give a real number")
        return
    try:
        math.ldexp(value, 0)
    except TypeError:
        raise TypeError(f"hyperparameter `{name}` is {type(value)}; give a number") from None


def same_names(*names: str) -> dict[str, Place]:
    """Returns places with the same names as in the rule."""
    return {name: name for name in names}


def flags(*names: str) -> dict[str, Place]:
    """Returns places of flags with the same names as in the rule. Like torch, uses the truth value
    of any object.
    """
    return {name: _flag(name) for name in names}


def _flag(name: str) -> Place:
    return lambda group, dtype: bool(group[name])


BETAS: dict[str, Place] = {"beta1": ("betas", 0, 2), "beta2": ("betas", 1, 2)}
