"""The decorators that turn functions into rules and transforms."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, overload

from ..definition import RuleDefinition
from ..errors import InvalidArgumentError
from .messages import error
from .names import is_name
from .places import Place, traced_code
from .printer import Printer
from .signature import (
    TRANSFORM_INPUTS,
    Signature,
    declaration_places,
    is_bool_input,
    plain_function,
    read_signature,
)
from .source import Source
from .trace import StateMapping, Trace
from .values import Value, as_number, fits_double, kind_name, literal_text, operand


class TracedDefinition(RuleDefinition):
    """A rule or a transform from a Python function."""

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        is_transform: bool,
        name: str | None = None,
        defaults: Mapping[str, Any] | None = None,
        base: "TracedDefinition | None" = None,
        finish: Callable[..., Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self.is_transform = is_transform
        self._base = base
        self._finish: Callable[..., Any] | None = finish or (base._finish if base else None)
        self._given = dict(defaults or {})
        self._signature: Signature = (
            base._signature if base else read_signature(function, is_transform)
        )
        self._name = name or _name_of(function)
        self._traces: dict[Any, tuple[Trace, Source]] = {}
        self._hypers = dict(self._signature.hypers)
        self._statics = dict(self._signature.statics)
        for known, value in self._given.items():
            if known in self._statics:
                self._statics[known] = value
            else:
                self._hypers[known] = self._hyper(known, value)

    def _hyper(self, name: str, value: Any) -> float:
        if name not in self._hypers:
            raise InvalidArgumentError(
                f"`{self._name}` has no hyperparameter or static argument `{name}`; it has "
                f"`{'`, `'.join([*self._hypers, *self._statics])}`"
            )
        number = as_number(value)
        if number is None or isinstance(number, bool):
            raise TypeError(f"hyperparameter `{name}` is {type(value)}; give a number")
        if not fits_double(number):
            raise InvalidArgumentError(f"hyperparameter `{name}` is too large for a number")
        return number

    @property
    def name(self) -> str:
        return self._name

    @property
    def hypers(self) -> dict[str, float]:
        return {name: float(value) for name, value in self._hypers.items()}

    @property
    def statics(self) -> dict[str, Any]:
        return dict(self._statics)

    @property
    def states(self) -> dict[str, str]:
        trace, _ = self._traced({})
        return {
            state.name: state.storage or ("f64" if state.over in ("tensor", "group") else "f32")
            for state in trace.states.values()
        }

    def __call__(self, **defaults: Any) -> "TracedDefinition":
        return TracedDefinition(
            self._function,
            is_transform=self.is_transform,
            name=self._name,
            defaults=self._given | defaults,
            base=self,
        )

    def _named(self, name: str) -> "TracedDefinition":
        """The same definition with another name."""
        return TracedDefinition(
            self._function,
            is_transform=self.is_transform,
            name=name,
            defaults=self._given,
            base=self,
        )

    def __reduce__(self) -> Any:
        if self._base is not None:
            base = self._base
            while base._base is not None:
                base = base._base
            return _with_defaults, (base, self._given)
        # Pickled by reference, like the function itself.
        return getattr(self, "__qualname__", self._name)

    def finish(self, function: Callable[..., Any]) -> "TracedDefinition":
        """Adds a function to a transform that runs after all other stages, as a decorator.

        The function takes `new_param`, the next value of the parameter, other inputs, and
        hyperparameters and static arguments of the transform. It may return another next value. A
        state has its value from before the step.

        >>> import updraft
        >>> @updraft.transform
        ... def exact_copy(param, state):
        ...     return {"param": state.setdefault("exact", param, storage="f32")}
        >>> @exact_copy.finish
        ... def exact_copy(new_param, state):
        ...     state["exact"] = new_param
        """
        if not self.is_transform:
            raise TypeError(f"`{self._name}` is a rule; only transforms have `finish`")
        return TracedDefinition(
            self._function,
            is_transform=True,
            name=self._name,
            defaults=self._given,
            finish=function,
        )

    @property
    def _rule(self) -> str | None:
        return self._name

    def _source(self, statics: Mapping[str, Any]) -> Source:
        return self._traced(statics)[1]

    def _traced(self, statics: Mapping[str, Any]) -> tuple[Trace, Source]:
        chosen = {name: statics.get(name, default) for name, default in self._statics.items()}
        for name, value in chosen.items():
            number = as_number(value)
            chosen[name] = value if number is None else number
        key = tuple((type(value), value, _sign(value)) for value in chosen.values())
        try:
            found = self._traces.get(key)
        except TypeError:
            raise InvalidArgumentError(
                f"a static argument must be hashable, so that its trace can be kept: {chosen!r}"
            ) from None
        if found is None:
            found = self._traces[key] = self._trace(chosen)
        return found

    def _trace(self, statics: dict[str, Any]) -> tuple[Trace, Source]:
        import inspect

        signature = self._signature
        trace = Trace(self.is_transform, statics)
        hypers = trace.hypers = {name: trace.leaf(name) for name in self._hypers}
        place = signature.place("")
        with trace, traced(self._function):
            arguments = _inputs(trace, "update", signature.inputs) | statics | hypers
            first = [arguments.pop(name) for name in signature.positional_only]
            result = self._function(*first, **arguments)
            trace.body.results = _results(result, self.is_transform, signature, place)
            if self._finish is not None:
                with traced(self._finish):
                    _call_finish(self._finish, trace, statics | hypers)
            trace.require_assigned()
            defaults = {name: literal_text(value) for name, value in self._hypers.items()}
            printer = Printer(trace, defaults, signature.places)
            source = printer.print(self._name, inspect.getdoc(self._function))
        return trace, source.formatted(self._filename)


@contextlib.contextmanager
def traced(function: Callable[..., Any]) -> Iterator[None]:
    """Records where the calls of a rule's function begin."""
    token = traced_code.set(getattr(plain_function(function), "__code__", None))
    try:
        yield
    finally:
        traced_code.reset(token)


def _inputs(trace: Trace, keyword: str, names: list[str]) -> dict[str, Any]:
    """Starts a function, and creates its inputs."""
    body = trace.begin(keyword)
    inputs: dict[str, Any] = {}
    for name in names:
        if name == "state":
            inputs[name] = StateMapping(trace)
        else:
            inputs[name] = body.inputs[name] = trace.leaf(name, is_bool=is_bool_input(name))
    return inputs


def _call_finish(function: Callable[..., Any], trace: Trace, others: dict[str, Any]) -> None:
    """Calls the function of `finish`; `others` are hyperparameters and static arguments."""
    import inspect

    names = list(inspect.signature(function).parameters)
    for name in names:
        if name not in (*TRANSFORM_INPUTS, *others):
            place = declaration_places(function)
            raise error(
                f"unknown input `{name}` of `finish`; the inputs of the transform are "
                f"`{'`, `'.join(TRANSFORM_INPUTS)}`",
                place.get(name, place.get("")),
            )
    arguments = _inputs(trace, "finish", [name for name in names if name in TRANSFORM_INPUTS])
    arguments |= {name: value for name, value in others.items() if name in names}
    result = function(**arguments)
    if result is not None:
        trace.body.results = {"param": operand(result, "the result of `finish`")}


def _sign(value: Any) -> Any:
    """A key that distinguishes zeros with different signs, also in a tuple."""
    return repr(value) if isinstance(value, float | complex | tuple) else None


def _with_defaults(base: TracedDefinition, defaults: dict[str, Any]) -> TracedDefinition:
    return base(**defaults)


def _name_of(function: Callable[..., Any]) -> str:
    while hasattr(function, "func"):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    if name == "<lambda>":
        return "anonymous"
    return name if is_name(name) else "rule_" + "".join(c if c.isascii() else "_" for c in name)


def _results(
    result: Any, is_transform: bool, signature: Signature, place: Place | None
) -> dict[str, Value]:
    """The function's result, by purpose."""
    isbefore = is_transform and "new_param" not in signature.inputs
    known = ("grad", "param") if isbefore else ("param",)
    what = f"the next value of `{known[0]}`"
    if result is None:
        raise error(f"the function returns nothing; return {what}", place)
    if not isinstance(result, Mapping):
        result = {known[0]: result}
    values = {}
    for name, value in result.items():
        if name not in known:
            raise error(f"the function returns {name!r}; give `{'`, `'.join(known)}`", place)
        if not isinstance(value, Value) and as_number(value) is None:
            raise error(f"the function returns {kind_name(value)}; return {what}", place)
        values[name] = operand(value, "the returned value")
    return values


@overload
def rule(function: Callable[..., Any], /) -> TracedDefinition: ...
@overload
def rule(*, name: str) -> Callable[[Callable[..., Any]], TracedDefinition]: ...
def rule(function: Callable[..., Any] | None = None, /, *, name: str | None = None) -> Any:
    """Makes a rule from a function that returns the next value of the parameter.

    The names of the function's parameters have a meaning: `param`, `grad`, `state`, `step`, `first`
    and `matrix` are the inputs of a rule. All others have a default: a number for a hyperparameter;
    a bool, text, or anything with the annotation `updraft.lang.Static`, for a static argument. The
    function is called once for each choice of static arguments, with values that stand for the
    other parameters. Its operations on them form the rule. Its docstring becomes the rule's
    comment.

    >>> import updraft
    >>> @updraft.rule
    ... def sgd(param, grad, lr=0.1):
    ...     return param - lr * grad
    >>> print(sgd.to_upd())
    rule sgd(lr = 0.1) {
      update(param, grad) {
        next param = param - lr * grad
      }
    }
    """
    if function is None:
        return functools.partial(_define, is_transform=False, name=name)
    return _define(function, is_transform=False, name=name)


@overload
def transform(function: Callable[..., Any], /) -> TracedDefinition: ...
@overload
def transform(*, name: str) -> Callable[[Callable[..., Any]], TracedDefinition]: ...
def transform(function: Callable[..., Any] | None = None, /, *, name: str | None = None) -> Any:
    """Makes a transform from a function, for `updraft.chain`; see `rule`.

    It returns the next value of the gradient. If it takes `new_param`, the rule's next value of the
    parameter, it runs after the rule, and returns the next value of the parameter.

    >>> import updraft
    >>> @updraft.transform
    ... def halve(grad):
    ...     return grad / 2
    >>> updraft.chain(halve, "clip_by_value(1.0)", updraft.rule(lambda param, grad: param - grad))
    <updraft rule definition halve_clip_by_value_anonymous(bound=1)>
    """
    if function is None:
        return functools.partial(_define, is_transform=True, name=name)
    return _define(function, is_transform=True, name=name)


def _define(
    function: Callable[..., Any], *, is_transform: bool, name: str | None
) -> TracedDefinition:
    if isinstance(function, RuleDefinition):
        raise TypeError(f"`{function.name}` is already a rule or a transform")
    if not callable(function):
        raise TypeError(f"expected a function, got {type(function)}")
    if name is not None and not is_name(name):
        raise InvalidArgumentError(f"{name!r} is not a valid name in the language")
    return TracedDefinition(function, is_transform=is_transform, name=name)
