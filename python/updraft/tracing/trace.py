"""The recording of one call of a rule's function."""

import contextvars
from collections.abc import Iterator, MutableMapping
from typing import Any, NoReturn

from .messages import UnknownAttributeError, error
from .names import check_name
from .places import Place, here
from .values import Value, kind_name, leaves, operand, shallow

_current: contextvars.ContextVar["Trace | None"] = contextvars.ContextVar("trace", default=None)


class State:
    """A state as the function declares it, and its next value."""

    def __init__(
        self,
        name: str,
        initial: Value,
        over: str | None,
        storage: str | None,
        when: Value | None,
        place: Place | None,
        leaf: Value,
    ) -> None:
        self.name = name
        self.initial = initial
        self.over = over
        self.storage = storage
        self.when = when
        self.place = place
        self.leaf = leaf
        # Its value before the step, then the last assigned value.
        self.value = leaf

    def is_like(self, other: "State") -> bool:
        """Whether both have the same declaration."""
        values = (self.initial, other.initial, self.when, other.when)
        initial, other_initial, when, other_when = structures(*values)
        return (initial, when, self.over, self.storage) == (
            other_initial,
            other_when,
            other.over,
            other.storage,
        )


def structures(*values: Value | None) -> list[int | None]:
    """A number for each value, which is equal for values with the same computation."""
    reached: dict[int, Value] = {}
    pending = [value for value in values if value is not None]
    while pending:
        value = pending.pop()
        if value.order not in reached:
            reached[value.order] = value
            pending += value.operands
    numbers: dict[int, int] = {}
    known: dict[Any, int] = {}
    for order in sorted(reached):
        value = reached[order]
        made_of = (value.kind, value.text, *(numbers[each.order] for each in value.operands))
        numbers[order] = known.setdefault(made_of, len(known))
    return [None if value is None else numbers[value.order] for value in values]


class Condition:
    """`skip when`, `hold when`, or a requirement with its message."""

    def __init__(self, keyword: str, value: Value, place: Place | None, message: str = "") -> None:
        self.keyword = keyword
        self.value = value
        self.place = place
        self.message = message


class Body:
    """The operations of one function: `update` or `finish`."""

    def __init__(self, keyword: str) -> None:
        self.keyword = keyword
        self.inputs: dict[str, Value] = {}
        self.conditions: list[Condition] = []
        # The next values of states, and where they are assigned.
        self.nexts: dict[str, tuple[Value, Place | None]] = {}
        # The next values of `param` and `grad`.
        self.results: dict[str, Value] = {}
        # The probes, and where they are made.
        self.probes: dict[str, tuple[Value, Place | None]] = {}

    def roots(self) -> list[Value]:
        """All values that the body needs."""
        values = [condition.value for condition in self.conditions]
        values += [value for value, _ in self.nexts.values()]
        values += [value for value, _ in self.probes.values()]
        return values + list(self.results.values())


class Trace:
    """The states and requirements of a rule, in order, and its functions."""

    def __init__(self, is_transform: bool, statics: dict[str, Any]) -> None:
        self.is_transform = is_transform
        self.statics = statics
        self.hypers: dict[str, Value] = {}
        self.states: dict[str, State] = {}
        self.requirements: list[Condition] = []
        self.bodies: list[Body] = []

    @property
    def body(self) -> Body:
        """The body of the function that is being called."""
        return self.bodies[-1]

    def begin(self, keyword: str) -> Body:
        """Starts the next function, which doesn't see the assignments of the previous one."""
        self.bodies.append(Body(keyword))
        for state in self.states.values():
            state.value = state.leaf
        return self.body

    def require_assigned(self) -> None:
        """Refuses a state that stays a constant, because no function assigns it. A state that
        starts from an input, such as a copy of the first parameter, may stay as it is.
        """
        for name, state in self.states.items():
            if not leaves(state.initial) and not any(name in body.nexts for body in self.bodies):
                raise error(
                    f"the state `{name}` is declared, but never assigned, so it stays at its "
                    f'initial value; assign its next value: `state["{name}"] = …`',
                    state.place,
                )

    def leaf(self, name: str, *, is_bool: bool = False) -> Value:
        """A named value: an input, a hyperparameter or a state."""
        return Value("name", name, is_bool=is_bool, trace=self)

    def __enter__(self) -> "Trace":
        self._token = _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def current(what: str) -> Trace:
    """The current trace. Raises an error that names `what` if there is none."""
    trace = _current.get()
    if trace is None:
        raise error(
            f"`{what}` is part of a rule; call it in a function with `@updraft.rule` or "
            "`@updraft.transform`",
            here(),
        )
    return trace


def _storage_name(dtype: Any, place: Place | None) -> str:
    from .. import dtypes
    from ..errors import InvalidArgumentError

    try:
        return dtypes.canonical_name(dtype)
    except InvalidArgumentError as unknown:
        raise error(str(unknown), place) from None


def _extent_text(over: Any, place: Place | None) -> str:
    """Returns an extent as the language writes it."""
    if not isinstance(over, tuple):
        check_name(over, "an extent", place)
        return str(over)
    if len(over) != 2:
        raise error(
            f'an extent has {len(over)} parts; give one name or two, as in `("row", "row")`',
            place,
        )
    for part in over:
        check_name(part, "a part of an extent", place)
    return f"({over[0]}, {over[1]})"


class StateMapping(MutableMapping[str, Value]):
    """The states of the rule by name, for a function under `@updraft.rule`.

    `state.setdefault(name, initial)` declares a state and returns its value. `state[name] = value`
    sets its next value, which later reads return.
    """

    __slots__ = ("_trace",)
    _trace: Trace

    def __init__(self, trace: Trace) -> None:
        object.__setattr__(self, "_trace", trace)

    def __getattr__(self, name: str) -> NoReturn:
        # Python asks for names like `__deepcopy__`.
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._no_attribute(name)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise self._no_attribute(name)

    def _no_attribute(self, name: str) -> Exception:
        return error(
            f'states are not attributes; write `state["{name}"]` instead of `state.{name}`',
            here(),
            kind=UnknownAttributeError,
        )

    def setdefault(  # type: ignore[override]
        self,
        name: str,
        initial: Any = 0,
        *,
        over: str | tuple[str, str] | None = None,
        storage: Any = None,
        when: Value | None = None,
    ) -> Value:
        """Declares a state, unless it is already declared, and returns its value.

        Args:
            name: the name of the state.
            initial: its value at a parameter's first step: a scalar, or an expression of `param`,
                `grad` and hyperparameters.
            over: "tensor", "group", "row" or "column" for one value for each of these;
                ("row", "row") or ("column", "column") for a square matrix; None for a state of the
                parameter's shape.
            storage: the storage type.
            when: `matrix` or `~matrix`, for a state that only matrices, or only vectors, have.
        """
        place = here()
        check_name(name, "a state", place)
        what = f"the initial value of the state `{name}`"
        value = shallow(operand(initial, what), what)
        extent = None if over is None else _extent_text(over, place)
        if storage is not None:
            storage = _storage_name(storage, place)
        if when is not None and not isinstance(when, Value):
            raise error(
                f"`when` of the state `{name}` is {kind_name(when)}; give `matrix` or `~matrix`; "
                "for a static argument, declare the state under an `if`",
                place,
            )
        state = State(name, value, extent, storage, when, place, self._trace.leaf(name))
        known = self._trace.states.setdefault(name, state)
        if known is not state and not known.is_like(state):
            raise error(
                f"conflicting declarations of the state `{name}`",
                place,
                ("first declared here", known.place),
            )
        return known.value

    def __getitem__(self, name: str) -> Value:
        return self._declared(name).value

    def __setitem__(self, name: str, value: Value) -> None:
        state = self._declared(name)
        state.value = operand(value, f"the next value of the state `{name}`")
        state.value.state = name
        self._trace.body.nexts[name] = (state.value, here())

    def _declared(self, name: str) -> State:
        state = self._trace.states.get(name)
        if state is None:
            import difflib

            near = difflib.get_close_matches(str(name), self._trace.states, 1)
            hint = f"did you mean `{near[0]}`?" if near else "declare it first with "
            hint += "" if near else f'`state.setdefault("{name}", initial)`'
            raise error(f"unknown state `{name}`; {hint}", here())
        return state

    def __delitem__(self, name: str) -> NoReturn:
        raise error("a state cannot be deleted; it lasts from step to step", here())

    def __iter__(self) -> Iterator[str]:
        return iter(self._trace.states)

    def __len__(self) -> int:
        return len(self._trace.states)

    def __contains__(self, name: object) -> bool:
        return name in self._trace.states
