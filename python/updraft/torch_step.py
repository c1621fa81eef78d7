"""Steps as pure, differentiable functions of torch tensors."""

import contextlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from .arguments import require_dict
from .compiled_rule import CompiledRule
from .derived_flags import DerivedFlags
from .errors import CompileError, InvalidArgumentError
from .step_arguments import (
    StateNames,
    require_containers,
    require_hypers,
    require_tensor,
    require_tensors,
)


def number_of(value: Any) -> float:
    # A flag depends only on the value of a tensor that gradients flow through.
    return float(value.detach() if hasattr(value, "detach") else value)


class _Definition(Protocol):
    """The methods of RuleDefinition that this module needs."""

    @property
    def name(self) -> str: ...
    @property
    def hypers(self) -> Mapping[str, float]: ...
    @property
    def statics(self) -> Mapping[str, Any]: ...
    def compile(
        self, *, defaults: Mapping[str, Any], storage: Mapping[str, Any]
    ) -> CompiledRule: ...


class _Module(NamedTuple):
    """A rule's module in torch."""

    rule: CompiledRule
    step: Callable[..., Any]
    init: Callable[..., dict[str, Any]]
    flags: DerivedFlags
    states: StateNames


class _Modules:
    """The modules of a rule for parameters of one dtype: one for each choice of flags.

    Args:
        hypers: the defaults, if they differ from those of the first module.
    """

    def __init__(self, first: _Module, hypers: Mapping[str, float]) -> None:
        self.hypers = {**first.rule.hypers, **hypers}
        self.deciding = first.flags.hypers
        self.modules = [first]
        # The values of `deciding` in the last call, and its module.
        self.last = {name: first.rule.hypers[name] for name in self.deciding}, first


def unknown_hyper(rule: str, name: str, known: Iterable[str]) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"`{rule}` has no hyperparameter `{name}`; there are "
        + ", ".join(f"`{other}`" for other in known)
    )


class TorchStep:
    """A rule as out-of-place operations of torch, created by `RuleDefinition.to_torch`.

    Each call takes one step. It is a pure function: it returns the next parameters and the next
    state, and doesn't change its arguments. Gradients flow through parameters, gradients, states
    and hyperparameters that are tensors.
    """

    def __init__(
        self,
        definition: _Definition,
        settings: Mapping[str, Any] | None,
        storage: Mapping[str, Any] | None,
    ) -> None:
        self._definition = definition
        self._settings = require_dict(settings, "`defaults`")
        self._storage = require_dict(storage, "`storage`")
        self._compiled: dict[Any, _Modules] = {}

    def __call__(
        self,
        params: Any,
        grads: Any,
        state: Mapping[str, Any] | None = None,
        **hypers: Any,
    ) -> tuple[Any, dict[str, Any]]:
        """Takes one step.

        Args:
            params: the tensors of one group, in a list, or in a dict with their names.
            grads: their gradients, in the same order or with the same names. A parameter whose
                gradient is None doesn't change.
            state: the result of the previous step; None for the first.
            hypers: values of hyperparameters, numbers or tensors. Others have their defaults. They
                aren't checked against the rule's requirements.

        Returns:
            The next parameters, in a container of the same kind, and the next state.
        """
        require_containers(params, grads)
        named = isinstance(params, Mapping)
        keys = list(params) if named else list(range(len(params)))
        taken = [key for key in keys if grads[key] is not None]
        state = {} if state is None else state
        require_tensors({key: params[key] for key in taken}, {key: grads[key] for key in taken})
        if not taken:
            return (dict(params) if named else list(params)), {**state}
        module, hypers = self._module(params[taken[0]].dtype, hypers)
        module.states.require(state, {key: params[key] for key in keys})
        states = dict(state.get("params", {}))
        next_params, next_states, group = module.step(
            [params[key] for key in taken],
            [grads[key] for key in taken],
            [states.get(key, {}) for key in taken],
            state.get("group", {}),
            hypers,
        )
        results = {key: params[key] for key in keys} | dict(zip(taken, next_params, strict=True))
        states |= dict(zip(taken, next_states, strict=True))
        return (
            results if named else [*results.values()],
            {"params": states, "group": group},
        )

    def initial(self, param: Any, **hypers: Any) -> dict[str, Any]:
        """Returns the initial states of a parameter."""
        require_tensor(param, "`param`")
        module, hypers = self._module(param.dtype, hypers)
        return module.init(param, hypers)

    def _module(self, dtype: Any, given: dict[str, Any]) -> tuple[_Module, dict[str, Any]]:
        """The printed module for parameters of `dtype`, and all hyperparameters."""
        if dtype not in self._compiled:
            self._compiled[dtype] = self._first(dtype, given)
        known = self._compiled[dtype]
        unknown = given.keys() - known.hypers.keys()
        if unknown:
            name = min(unknown)
            if name in self._definition.statics:
                raise InvalidArgumentError(
                    f"`{name}` is a static argument of `{self._definition.name}`, which calls "
                    f"cannot change; give it to `to_torch`: `defaults={{{name!r}: …}}`"
                )
            raise unknown_hyper(self._definition.name, name, known.hypers)
        require_hypers(given)
        hypers = known.hypers | given
        values = {name: number_of(hypers[name]) for name in known.deciding}
        if values != known.last[0]:
            fitting = (module for module in known.modules if module.flags.hold_for(values))
            module = next(fitting, None)
            if module is None:
                module = self._compile(dtype, values)
                known.modules.append(module)
            known.last = values, module
        return known.last[1], hypers

    def _first(self, dtype: Any, given: Mapping[str, Any]) -> _Modules:
        """The rule for its defaults or, if these conflict with its flags, for a call's values."""
        with contextlib.suppress(CompileError):
            return _Modules(self._compile(dtype, {}), {})
        defaults = self._definition.hypers
        require_hypers(given)
        values = {name: number_of(value) for name, value in given.items() if name in defaults}
        first = self._compile(dtype, values)
        known = {name: self._settings.get(name, defaults[name]) for name in values}
        return _Modules(first, known)

    def _compile(self, dtype: Any, values: Mapping[str, float]) -> _Module:
        storage = {"param": dtype, "grad": dtype, **self._storage}
        settings = {**self._settings, **values}
        rule = self._definition.compile(defaults=settings, storage=storage)
        names: dict[str, Any] = {}
        exec(compile(rule.emit("torch"), f"<{rule.name} in torch>", "exec"), names)
        return _Module(rule, names["step"], names["init"], DerivedFlags(rule), StateNames(rule))
