"""Applying a compiled rule to arrays."""

import contextlib
import errno
import math
import operator
import os
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from . import _updraft
from .arguments import index_array, require_text, require_unmasked
from .caller_warnings import warn_caller
from .compiled_rule import CompiledRule, path_text
from .definition import RuleDefinition
from .dtypes import is_storage_type
from .errors import (
    CompileError,
    FileMissingError,
    InvalidArgumentError,
    NotFoundError,
    UnsupportedError,
)
from .probes import (
    CALLBACK_WITHOUT_PROBES,
    Callback,
    CallbackHandle,
    ProbeRow,
    named_values,
    require_callback,
    require_every,
)
from .seed import require_seed


def _is_array(thing: Any) -> bool:
    return hasattr(thing, "__dlpack__") or hasattr(thing, "__array_interface__")


def _values(
    rule: CompiledRule | RuleDefinition, hypers: Mapping[str, Any]
) -> list[tuple[str, float]]:
    """Reads hyperparameters. Unknown names are passed on, so that the library reports the error."""
    values = []
    for name, value in hypers.items():
        require_text(name, "name of a hyperparameter")
        require_unmasked(value, f"hyperparameter `{name}`")
        if name not in rule.hypers:
            value = 0.0
        elif isinstance(value, str | bytes):
            raise TypeError(f"hyperparameter `{name}` is {type(value)}; give a number")
        try:
            values.append((name, float(value)))
        except TypeError:
            raise TypeError(f"hyperparameter `{name}` is {type(value)}; give a number") from None
        except (ValueError, OverflowError, RuntimeError) as error:
            raise InvalidArgumentError(
                f"hyperparameter `{name}` is not a number: {error}"
            ) from None
    return values


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _storage_of(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The type of the first parameter, for it and its gradient; None if it can't be stored. Reading
    the parameter then raises an error with its number.
    """
    for group in groups:
        members = group.get("params", ())
        for param in members if isinstance(members, list | tuple) else ():
            dtype = getattr(param, "dtype", None)
            if dtype is not None:
                return {"param": dtype, "grad": dtype} if is_storage_type(dtype) else {}
    return {}


def _compile_for(
    rule: RuleDefinition,
    statics: dict[str, Any],
    hypers: dict[str, Any],
    groups: list[dict[str, Any]],
    probes: Sequence[str],
) -> CompiledRule:
    """Compiles a rule for the given flags and those derived from hyperparameters."""
    storage = _storage_of(groups)

    def compiled(defaults: dict[str, Any]) -> CompiledRule:
        return rule.compile(defaults=defaults, storage=storage, probes=probes)

    given = {name: hypers[name] for name in rule._deciding() if name in hypers}
    deciding = rule._deciding_values(dict(_values(rule, given)))
    if deciding:
        # Values that the rule can't be compiled for raise an error when they are set.
        with contextlib.suppress(CompileError):
            return compiled(statics | deciding)
    try:
        return compiled(statics)
    except CompileError:
        # A requirement may allow a flag with these values, but not with the defaults.
        known = {name: value for name, value in hypers.items() if name in rule.hypers}
        if statics and known:
            with contextlib.suppress(CompileError):
                return compiled(statics | dict(_values(rule, known)))
        raise


class Rows:
    """A gradient of some rows of a parameter. The parameter's first dimensions count its rows.

    Args:
        indices: the rows, in ascending order without duplicates: integers in a list or an array.
        values: an array with one dimension for the indices, followed by the shape of a row.
        dims: the number of dimensions that count the rows, in memory order. With 2, the row
            `3 * i + j` of a row-major parameter [4, 3] is its element [i, j].

    >>> import numpy
    >>> from updraft import compile
    >>> text = "rule SGD(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }"
    >>> table = numpy.zeros((4, 2), dtype="float32")
    >>> optimizer = ArrayOptimizer(compile(text), [table], lr=1)
    >>> optimizer.step([Rows([1, 3], numpy.ones((2, 2), dtype="float32"))])
    >>> table[:, 0]
    array([ 0., -1.,  0., -1.], dtype=float32)
    """

    def __init__(self, indices: Any, values: Any, dims: int = 1) -> None:
        self.indices = indices
        self.values = values
        self.dims = dims

    def __repr__(self) -> str:
        dims = "" if self.dims == 1 else f", dims={self.dims}"
        return f"Rows({self.indices!r}, {self.values!r}{dims})"


def _strides(param: Any) -> tuple[int, ...]:
    """The strides of an array in elements."""
    if hasattr(param, "strides"):
        return tuple(stride // param.itemsize for stride in param.strides)
    import torch

    return tuple((param if hasattr(param, "stride") else torch.from_dlpack(param)).stride())


def _sparse_rows(grad: Any, param: Any) -> Rows:
    """Returns the rows of a sparse tensor of torch."""
    grad = grad.coalesce()
    dims, indices, values = grad.sparse_dim(), grad.indices(), grad.values()
    if dims == 1:
        return Rows(indices[0], values)
    strides = _strides(param)
    size = math.prod(grad.shape[dims:]) or 1
    begins = sum((indices[i] * (strides[i] // size) for i in range(dims)), indices.new_zeros(()))
    begins, order = begins.sort()
    return Rows(begins, values[order], dims)


def _rows_of(grad: Any, param: Any, what: str) -> Rows | None:
    """Returns the rows of a gradient that has only some: `Rows`, or a sparse tensor of torch."""
    if isinstance(grad, Rows):
        return grad
    if not getattr(grad, "is_sparse", False):
        return None
    if grad.sparse_dim() == 0:
        raise InvalidArgumentError(f"{what} has no sparse dimension; give a dense tensor")
    shape, expected = list(grad.shape), list(param.shape)
    if shape != expected:
        raise InvalidArgumentError(
            f"{what} is {shape}, but its parameter is {expected}; give a tensor of the same shape"
        )
    return _sparse_rows(grad, param)


def _index_dims(dims: Any, what: str) -> int:
    """The number of dimensions that count rows, in 32 bits. The library checks that the parameter
    has that many.
    """
    try:
        count = operator.index(dims)
    except TypeError:
        raise TypeError(f"`dims` of {what} is {type(dims)}; give an integer") from None
    if not -(1 << 31) <= count < 1 << 31:
        raise InvalidArgumentError(
            f"`dims` of {what} is {count}; give how many dimensions of the parameter count the rows"
        )
    return count


def _numbered(described: list[Any]) -> Iterator[tuple[int, list[str], int]]:
    """For each group: the number of its first parameter, the names, and how many there are."""
    first = 0
    for members, names, _ in described:
        yield first, names, len(members)
        first += len(members)


class Group(MutableMapping[str, float]):
    """Parameters that share hyperparameters: a mapping from each hyperparameter to its value.

    Setting a value takes effect with the next step and never compiles.
    """

    def __init__(
        self, optimizer: _updraft.Optimizer, index: int, rule: CompiledRule, params: list[Any]
    ) -> None:
        self._optimizer = optimizer
        self._index = index
        self._rule = rule
        self.params = params

    def __getitem__(self, name: str) -> float:
        require_text(name, "name of a hyperparameter")
        return self._optimizer.get_hyper(self._index, name)

    def __contains__(self, name: object) -> bool:
        return name in self._rule.hypers

    def __setitem__(self, name: str, value: float) -> None:
        self._optimizer.set_hypers(self._index, _values(self._rule, {name: value}))

    def update(self, *args: Any, **hypers: float) -> None:
        """Sets several values, like a dict's `update`. If one is invalid, sets none."""
        self._optimizer.set_hypers(self._index, _values(self._rule, dict(*args, **hypers)))

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"hyperparameter `{name}` cannot be deleted; set it to another value")

    def __iter__(self) -> Iterator[str]:
        return iter(self._rule.hypers)

    def __len__(self) -> int:
        return len(self._rule.hypers)

    def __repr__(self) -> str:
        return f"Group({dict(self)!r}, {_count(len(self.params), 'parameter')})"


class ArrayOptimizer:
    """Applies one compiled rule to parameters, in place.

    Parameters and gradients are numpy arrays, or anything with `__dlpack__`, such as torch's CPU
    tensors. The optimizer views them without copying, and keeps them alive. An array must keep its
    memory: a step refuses a resized one. After torch's `param.data = …`, the optimizer still uses
    the old memory. No other thread may resize an array while a step runs.

    Args:
        rule: from `compile` or `compile_file`.
        params: an iterable of arrays, or of groups: `[{"params": [...], "lr": 1e-3}, …]`. A group
            may have "names", with a name per parameter, for `save`.
        probes: numbers that steps report for each parameter, if `rule` is a definition; see
            `updraft.compile`. `probe_values` returns them.
        probe_every: 1 probes each step, 20 every 20th, 0 none.
        **hypers: values for all groups that don't set their own.

    Raises:
        InvalidArgumentError: a parameter has the wrong dtype, is read-only or overlaps another, or
            a hyperparameter is NaN or breaks a requirement of the rule. Nothing has been written.
        NotFoundError: the rule doesn't have a hyperparameter with that name.
        TypeError: an argument is not a list, array or number, or is a masked array.

    >>> import numpy
    >>> from updraft import compile
    >>> text = "rule SGD(lr = 0.1) { update(param, grad) { next param = param - lr * grad } }"
    >>> rule = compile(text)
    >>> weights = numpy.ones(3, dtype="float32")
    >>> optimizer = ArrayOptimizer(rule, [weights], lr=0.5)
    >>> optimizer.step([numpy.ones(3, dtype="float32")])
    >>> weights
    array([0.5, 0.5, 0.5], dtype=float32)
    """

    def __init__(
        self,
        rule: CompiledRule | RuleDefinition,
        params: Iterable[Any] | Iterable[Mapping[str, Any]],
        *,
        probes: Sequence[str] = (),
        probe_every: int = 1,
        **hypers: Any,
    ) -> None:
        if not isinstance(rule, CompiledRule | RuleDefinition):
            raise TypeError(
                f"`rule` is {type(rule)}; give what `updraft.compile`, `compile_file` or `load` "
                "returns, or a function with `@updraft.rule`"
            )
        if _is_array(params):
            raise TypeError("`params` is one array; give a list of arrays, `[array]`, or of groups")
        if isinstance(params, Mapping):
            raise TypeError("`params` is one group; give a list of groups, `[group]`")
        if not isinstance(params, Iterable):
            raise TypeError(f"`params` is {type(params)}; give a list of arrays, or of groups")
        params = list(params)
        if params and all(isinstance(item, Mapping) for item in params):
            groups = [dict(group) for group in params]
        elif any(isinstance(item, Mapping) for item in params):
            raise TypeError("`params` has both arrays and groups; give all arrays in groups")
        else:
            groups = [{"params": params}]
        if isinstance(rule, RuleDefinition):
            statics = {name: hypers.pop(name) for name in rule.statics if name in hypers}
            rule = _compile_for(rule, statics, hypers, groups, probes)
        elif probes:
            raise InvalidArgumentError(
                f"rule `{rule.name}` is compiled, and probes are a part of it; give them to "
                "`updraft.compile(…, probes=…)`"
            )
        for name in ("storage", "numerics", "target"):
            if name in hypers and name not in rule.hypers:
                raise NotFoundError(
                    f"rule `{rule.name}` has no hyperparameter `{name}`; this is chosen when a "
                    f"rule is compiled, `updraft.compile(…, {name}=…)`"
                )

        described = []
        for group in groups:
            if "params" not in group:
                raise InvalidArgumentError(
                    'a parameter group has no "params"; give it a list of arrays'
                )
            if _is_array(group["params"]):
                raise TypeError('"params" of a group is one array; give a list, `[array]`')
            members = list(group.pop("params"))
            names = list(group.pop("names", ()))
            for name in names:
                require_text(name, "name of a parameter")
            if names and len(names) != len(members):
                raise InvalidArgumentError(
                    f"a parameter group has {len(members)} params and {len(names)} names; "
                    "give one name per parameter or none"
                )
            described.append((members, names, _values(rule, hypers | group)))

        self._optimizer = _updraft.Optimizer(rule._compiled, described)
        self._rule = rule
        self._names = [
            str(names[index]) if names else str(first + index)
            for first, names, count in _numbered(described)
            for index in range(count)
        ]
        self._probes = rule.probe_bounds
        self._probe_cursor = 0
        self._probe_callbacks: list[Callback] = []
        self.probe_every = probe_every
        self._groups = tuple(
            Group(self._optimizer, index, rule, members)
            for index, (members, _, _) in enumerate(described)
        )

    @property
    def rule(self) -> CompiledRule:
        """The rule."""
        return self._rule

    @property
    def groups(self) -> tuple[Group, ...]:
        """The parameter groups: `optimizer.groups[0]["lr"] = 1e-4`."""
        return self._groups

    def step(self, grads: Iterable[Any]) -> None:
        """Applies one step, without the GIL.

        `grads` has one gradient per parameter, in the order of all groups' parameters. A parameter
        whose gradient is None doesn't change. A gradient of some rows is `Rows`, or a sparse tensor
        of torch, which is coalesced. Gradients are only read. Errors are raised before anything is
        written.
        """
        if _is_array(grads) or isinstance(grads, Mapping | str | bytes):
            raise TypeError(
                f"`grads` is {type(grads)}; give a list with one gradient, or None, per parameter"
            )
        grads = list(grads)
        expected = self._optimizer.param_count
        if len(grads) != expected:
            verb = "is" if len(grads) == 1 else "are"
            raise InvalidArgumentError(
                f"there {verb} {_count(len(grads), 'gradient')} for "
                f"{_count(expected, 'parameter')}; give None for an absent one"
            )
        rows = []
        if any(kind is Rows or hasattr(kind, "is_sparse") for kind in set(map(type, grads))):
            params = [param for group in self._groups for param in group.params]
            for index, grad in enumerate(grads):
                found = _rows_of(grad, params[index], f"gradient {index}")
                if found is not None:
                    indices = index_array(found.indices, f"gradient {index}")
                    dims = _index_dims(found.dims, f"gradient {index}")
                    rows.append((index, indices, found.values, dims))
                    grads[index] = None
        self._optimizer.step(grads, rows)
        if self._probe_callbacks and (values := self.probe_values()):
            for callback in list(self._probe_callbacks):
                callback(values)

    @property
    def probe_every(self) -> int:
        """1 probes each step, 20 every 20th, 0 none. It may be changed at any time."""
        return self._optimizer.get_probe_every()

    @probe_every.setter
    def probe_every(self, every: int) -> None:
        self._optimizer.set_probe_every(require_every(every))

    def probe_values(self) -> list[ProbeRow]:
        """Returns the probes of the steps since the last call, one row for each parameter that had
        a gradient. Doesn't wait for a step that is running. The optimizer keeps at least 16 steps;
        older ones are lost.

        >>> import numpy, updraft
        >>> rule = updraft.load("AdamW")
        >>> weights = numpy.ones(4, dtype="float32")
        >>> optimizer = ArrayOptimizer(rule, [weights], probes=["gradient_norm"])
        >>> optimizer.step([numpy.ones(4, dtype="float32")])
        >>> optimizer.probe_values()
        [ProbeRow(step=1, parameter='0', values={'gradient_norm': 2.0})]
        """
        self._probe_cursor, _, rows = self._optimizer.read_probes(self._probe_cursor)
        return [
            ProbeRow(step, self._names[param], named_values(self._probes, values))
            for step, param, values in rows
        ]

    def register_probe_callback(self, callback: Callback) -> CallbackHandle:
        """Calls a function with the rows of each probed step, after the step. `probe_values` then
        returns nothing. The handle has `remove()`. See `updraft.probes` for writers.
        """
        require_callback(callback)
        if not self.rule.probes:
            warn_caller(CALLBACK_WITHOUT_PROBES)
        self._probe_callbacks.append(callback)
        return CallbackHandle(self._probe_callbacks, callback)

    def step_rows(self, indices: Any, values: Any, param: int = 0) -> None:
        """Applies one step to some rows of one parameter, with the gradients `values`.

        The other rows and their states don't change. See `Rows` for the arguments.
        """
        grads: list[Any] = [None] * self._optimizer.param_count
        grads[self._position(param)] = Rows(indices, values)
        self.step(grads)

    def _position(self, param: int) -> int:
        """Checks a parameter's position."""
        try:
            position = operator.index(param)
        except TypeError:
            raise TypeError(
                f"expected the position of a parameter, an integer, got {type(param)}"
            ) from None
        if not 0 <= position < self._optimizer.param_count:
            raise InvalidArgumentError(
                f"parameter {position} does not exist; "
                f"the optimizer has {self._optimizer.param_count}"
            )
        return position

    def state(self, param: int) -> dict[str, Any]:
        """Returns the states of a parameter by name, as arrays over the optimizer's own memory.

        Empty until the parameter's first step. A bf16 state has ml_dtypes' type if that is
        installed, else it is an object for `torch.from_dlpack`. A state in blocks is returned as
        its codes, uint8, and their scales as `NAME.scale`.
        """
        param = self._position(param)
        views = {name: self._optimizer.state(param, name) for name in self._rule.stored_states}
        return {name: view for name, view in views.items() if view is not None}

    def bind_state(self, param: int, name: str, array: Any) -> None:
        """Uses `array`'s memory for a state; its content becomes the state's value. States in 8-bit
        blocks are not supported.
        """
        require_text(name, "name of a state")
        storage = self._rule.states.get(name.removesuffix(".scale"), "")
        if storage.startswith("q8_"):
            raise UnsupportedError(
                f"cannot bind state `{name}`: {storage} keeps codes and scales in one allocation; "
                f"write to the arrays of `state({param})`, or load a file"
            )
        self._optimizer.bind_state(self._position(param), name, array)

    @property
    def seed(self) -> int:
        """The seed of the rule's random numbers, from 0 to 2^64 - 1. The default is 0."""
        return self._optimizer.get_seed()

    @seed.setter
    def seed(self, value: int) -> None:
        self._optimizer.set_seed(require_seed(value))

    def step_count(self, param: int) -> int:
        """Returns the number of steps that a parameter has taken."""
        return self._optimizer.get_step(self._position(param))

    def set_step_count(self, param: int, count: int) -> None:
        """Sets the number of steps that a parameter has taken."""
        try:
            steps = operator.index(count)
        except TypeError:
            raise TypeError(f"the step count is {type(count)}; give an integer") from None
        if not 0 <= steps <= 1 << 53:
            raise InvalidArgumentError(f"expected a step count from 0 to 2^53, got {steps}")
        self._optimizer.set_step(self._position(param), steps)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes states, step counts and hyperparameters as a safetensors file."""
        self._optimizer.save(path_text(path))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Loads a file that `save` wrote, with hyperparameters. On an error, nothing changes."""
        text = path_text(path)
        try:
            self._optimizer.load(text)
        except NotFoundError as error:
            missing = FileMissingError(str(error))
            missing.errno, missing.filename = errno.ENOENT, text
            raise missing from None

    def __repr__(self) -> str:
        params = _count(self._optimizer.param_count, "parameter")
        return f"<updraft optimizer {self._rule.name}, {params}>"
