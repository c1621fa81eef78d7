"""Parameters that one compiled rule steps together."""

import itertools
import operator
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ldexp
from typing import Any

import torch

from ..chain import chain
from ..compiled_rule import CompiledRule
from ..derived_flags import DerivedFlags
from ..errors import InvalidArgumentError, UnsupportedError
from ..probes import Histogram, named_values
from ..seed import require_seed
from ..torch_private import ATTRIBUTES
from ..tracing.rule import transform
from .adapter import GroupStepper
from .assigned_states import States
from .correspondence import (
    AS_DENSE,
    Correspondence,
    Group,
    reader,
    require_hypers,
    setting_choices,
    specialize,
)
from .devices import DeviceReadings, GradientScale, target_of
from .rule_interface import RuleInterface
from .state_storage import (
    FLOATS,
    STORAGE,
    refusal_of_numbers,
    require_complex_storage,
    require_state_types,
    scalar_dtype,
)
from .states import enter

_STATE_TYPES = FLOATS | {"i8": torch.int8}
#: The ending of the name of the scales of a state in blocks.
SCALE = ".scale"
_take_fresh = operator.methodcaller("take_fresh")
_LOCAL = ATTRIBUTES["local_tensor"].name


@transform
def scaled_by(grad, factor=1.0, divisor=1.0):  # type: ignore[no-untyped-def]
    """Multiplies gradients by a number that each step sets."""
    return grad * (factor / divisor)


def _scaling(factor: float | GradientScale) -> list[float]:
    """Returns the hyperparameters of `scaled_by`."""
    return [float(factor), 1.0]


def require_storage(correspondence: Correspondence, dtype: torch.dtype) -> None:
    """Refuses parameters of a dtype that the rule can't step."""
    if dtype not in STORAGE:
        raise NotImplementedError(
            f"unsupported parameter dtype {dtype}; compiled steps support "
            + ", ".join(str(known) for known in STORAGE)
        )
    if dtype.is_complex and correspondence.complex:
        raise RuntimeError(correspondence.complex)


def require_pairs(rule: CompiledRule) -> None:
    """Refuses a rule that isn't right for pairs of numbers, as complex ones are stepped."""
    if RuleInterface(rule).by_rows:
        raise UnsupportedError(
            f"the rule `{rule.name}` depends on rows, columns or batches, which complex "
            "parameters don't have: they are stepped as pairs of numbers"
        )


def require_no_other(names: Iterable[str], number: int, state: Mapping[str, Any]) -> None:
    """Refuses states without a step count, because it would restart.

    Args:
        names: the names of the rule's states.
        number: the parameter's number in the optimizer.
        state: the parameter's states.
    """
    for name in names:
        if state.get(name) is not None:
            raise InvalidArgumentError(
                f"parameter {number} has the state `{name}` but no `step`; give it all of its "
                "states, or none"
            )


def _kind_of(params: list[torch.Tensor]) -> str:
    """Returns `tensors` for `updraft.compile`. Complex parameters are stepped as pairs."""
    vector_dimensions = 0 if params[0].is_complex() else 1
    are_matrices = {param.dim() > vector_dimensions for param in params}
    if len(are_matrices) > 1:
        return "all"
    return "matrices" if True in are_matrices else "vectors"


class CompiledRules:
    """Rules for several buckets that are made at the same time. Equal ones are compiled once."""

    def __init__(self) -> None:
        #: Each with its definition, which must stay alive because the key has its id.
        self._rules: dict[tuple[Any, ...], tuple[Any, CompiledRule]] = {}

    def compile(
        self,
        correspondence: Correspondence,
        settings: dict[str, Any],
        dtype: torch.dtype,
        scaled: bool,
        tensors: str,
        target: str | None,
    ) -> CompiledRule:
        """Returns the rule of a correspondence for parameters of a dtype; see `updraft.compile`."""
        key = (
            id(correspondence.rule),
            repr(settings),
            repr(correspondence.all_storage),
            correspondence.numerics,
            correspondence.probes,
            dtype,
            scaled,
            tensors,
            target,
        )
        if key not in self._rules:
            require_storage(correspondence, dtype)
            definition = correspondence.definition
            made = (chain(scaled_by, definition) if scaled else definition).compile(
                defaults=settings,
                storage=correspondence.storage_for(STORAGE[dtype]),
                numerics=correspondence.numerics,
                tensors=tensors,
                target=target,
                probes=correspondence.probes,
            )
            self._rules[key] = (correspondence.rule, made)
        return self._rules[key][1]


#: The types of step counts on the CPU. A GPU supports the first two.
_COUNT_TYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16),
)


def _is_count(value: Any, device: torch.device, on_device: bool) -> bool:
    """Whether a step count can be used directly. Files may have numbers instead of tensors."""
    return (
        isinstance(value, torch.Tensor)
        and value.numel() == 1
        and value.dtype in (_COUNT_TYPES[:2] if on_device else _COUNT_TYPES)
        and value.device == device
        and not value.is_neg()
    )


class Bucket:
    """Parameters of a group with the same dtype, on the same device.

    `numbers` are the parameters' numbers in the optimizer, an input of random numbers. Buckets that
    are made at the same time may share `rules`.
    """

    calls_operators = False

    def __init__(
        self,
        correspondence: Correspondence,
        params: list[torch.Tensor],
        numbers: list[int],
        group: Group,
        states: States,
        scaled: bool,
        rules: CompiledRules | None = None,
    ) -> None:
        self.params = params
        self.numbers = numbers
        self.generation = states.generation
        #: The parameters with states that `take_states` hasn't returned.
        self.fresh: deque[int] = deque()
        compiled = rules or CompiledRules()
        self.dtype = dtype = params[0].dtype
        self.target = target = target_of(params[0])
        self.reads_on_device = target is not None
        #: The device of step counts.
        self.device = params[0].device
        self.places = correspondence.hypers
        self.read_hypers = [reader(place) for place in correspondence.hypers.values()]
        # A chain's first hyperparameters are those of its first stage, `scaled_by`.
        self.accepted = initial = self.hypers(group, 1.0 if scaled else None)
        sparse = correspondence.sparse_of(group)
        as_dense = sparse == AS_DENSE
        refusals = "" if as_dense else sparse or "", correspondence.dense or ""

        self.probe_cursor = 0
        #: The type of new step counts.
        self.scalar = scalar_dtype(group)
        tensors = correspondence.tensors or _kind_of(params)

        def make(settings: dict[str, Any]) -> None:
            self.rule = compiled.compile(correspondence, settings, dtype, scaled, tensors, target)
            self.stepped = self._tensors(params)
            self.stepper = GroupStepper(
                self.rule._compiled.address,
                self.stepped,
                initial,
                *refusals,
                as_dense,
                self._names(group),
                target == "emulator",
                self.scalar,
            )
            if self.rule.probes:
                self.stepper.set_probe_every(correspondence.probe_every)
            self.states = correspondence.state_names(self.rule.stored_states)
            #: Whether step counts aren't a state of torch's class, but random numbers or probes
            #: need them, also after the bucket is made again.
            reads = self._reads_counts(correspondence)
            self.counts_for_itself = reads and "step" not in self.states
            if self.counts_for_itself and correspondence.states:
                self.states.insert(0, "step")
            self.flags = DerivedFlags(self.rule)

        hypers = dict(zip(self.places, self.hypers(group, None), strict=True))
        choices = setting_choices(correspondence, group, hypers)
        specialize(make, choices)
        if tensors != "all" and self._has_unknown_states(states):
            # The rule for all tensors refuses a state that only the other kind has.
            tensors = "all"
            specialize(make, choices)
        self._require_flags(initial)
        if dtype.is_complex:
            require_pairs(self.rule)
            require_complex_storage(correspondence, self.rule)
        given = [states.of_param(param) or {} for param in (params if states else ())]
        if given:
            require_state_types(correspondence, self.rule, numbers, given)
        self.readings = None
        if target is not None:
            self.readings = DeviceReadings(self.stepper, self.device, len(initial))
        seed = require_seed(group.get("seed", 0))
        self.stepper.set_random(
            seed if seed < 1 << 63 else seed - (1 << 64), [numbers[i] for i in self._owners()]
        )
        bound: list[dict[str, Any]] = []
        for number, state in enumerate(given):
            if state:
                self._bind(number, state)
                bound.append(state)
        if bound:
            self._share(bound)

    def _reads_counts(self, correspondence: Correspondence) -> bool:
        """Whether the rule, one of torch's classes, draws random numbers or has probes."""
        return correspondence.draws_numbers(STORAGE[self.dtype]) or bool(self.rule.probes)

    def _has_unknown_states(self, states: States) -> bool:
        """Whether a parameter has a state that the rule, as it was compiled, does not have."""
        known = {*self.states, "step"}
        given = (states.of_param(param) for param in (self.params if states else ()))
        return any(state and not known.issuperset(state) for state in given)

    def _tensors(self, params: list[torch.Tensor]) -> list[torch.Tensor]:
        """Returns the tensors that are stepped, with the gradients in their `.grad`."""
        return params

    def _owners(self) -> Sequence[int]:
        """The index in `params` of the parameter that each stepped tensor is, or is a part of."""
        return range(len(self.params))

    def _names(self, group: Group) -> list[str]:
        """Returns the names in messages of the stepped tensors: those of the group, else the
        numbers in the optimizer.
        """
        given = zip(group.get("params", ()), group.get("param_names", ()), strict=False)
        names = {id(param): str(name) for param, name in given}
        parts = Counter(self._owners())
        seen: Counter[int] = Counter()
        shown = []
        for owner in self._owners():
            name = names.get(id(self.params[owner]), str(self.numbers[owner]))
            shown.append(name if parts[owner] == 1 else f"{name}, matrix {seen[owner]}")
            seen[owner] += 1
        return shown

    def _memory(self, number: int, state: Any) -> Any:
        """Returns the tensor that has a state's memory."""
        return state

    def _shown(self, number: int, name: str, state: torch.Tensor) -> torch.Tensor:
        """Returns a state as users see it."""
        return state

    def hypers(self, group: Group, factor: float | GradientScale | None) -> list[float]:
        """Reads the hyperparameters, which may be tensors of one element."""
        try:
            values = self._numbers(group)
        except (LookupError, TypeError, ValueError, RuntimeError):
            # Another thread may correct the group, so check and read the same copy.
            group = dict(group)
            require_hypers(self.places, group, self.dtype)
            values = self._numbers(group)
        return values if factor is None else [*_scaling(factor), *values]

    def _numbers(self, group: Group) -> list[float]:
        # Like `float`, but refuses text.
        return [ldexp(read(group, self.dtype), 0) for read in self.read_hypers]

    def _require_flags(self, values: list[float]) -> None:
        """Refuses values that need another compiled rule."""
        self.flags.require(dict(zip(self.rule.hypers, values, strict=True)))

    def _readings_of(self, group: Group, factor: float | GradientScale | None) -> list[Any]:
        """Like `hypers`, but doesn't convert tensors to numbers."""
        values = [read(group, self.dtype) for read in self.read_hypers]
        if factor is None:
            return values
        if isinstance(factor, GradientScale):
            assert self.readings is not None
            return [1.0, self.readings.brought(factor), *values]
        return [*_scaling(factor), *values]

    def accept(self, group: Group, factor: float | GradientScale | None) -> None:
        """Accepts the group's current hyperparameters. Doesn't check the rule's requirements, as
        torch checks them only in constructors.
        """
        if self.readings is None:
            values = self.hypers(group, factor)
        else:
            values = self.readings.take(self._readings_of(group, factor), self.accepted)
        if values != self.accepted:
            self._require_flags(values)
            self.stepper.set_hypers(values)
            self.accepted = values

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """See `SteppedPart`."""
        if self.readings is not None:
            self.readings.skip_where(found_inf)

    @property
    def is_direct(self) -> bool:
        """Whether a step only calls `stepper`."""
        return True

    def prepare(self, states: States) -> bool:
        """See `SteppedPart`."""
        return self.stepper.prepare()

    def apply(self, states: States) -> None:
        """See `SteppedPart`."""
        fresh = True
        try:
            fresh = self.stepper.apply()
        finally:  # Ctrl-C raises after the step, which may have created states.
            if fresh:
                states.expect(self)

    def abandon(self) -> None:
        """See `SteppedPart`."""
        self.stepper.abandon()

    def take_probes(self) -> list[tuple[int, int, dict[str, float | Histogram]]]:
        """Returns the probes of the steps since the last call: the step count, the number in the
        optimizer of the parameter, and the values.
        """
        places, values, self.probe_cursor, _ = self.stepper.read_probes(self.probe_cursor)
        bounds = self.rule.probe_bounds
        return [
            (step, self._number_of(stepped), named_values(bounds, row))
            for (step, stepped), row in zip(places.tolist(), values.tolist(), strict=True)
        ]

    def _number_of(self, stepped: int) -> int:
        """The number in the optimizer of the parameter of a stepped tensor."""
        return self.numbers[self._owners()[stepped]]

    def _bind(self, number: int, state: dict[str, Any]) -> None:
        if self.counts_for_itself and not self.states:
            # The first rule of a split step has the states.
            self.stepper.set_step_count(number, int(state.get("step", 0)))
        for name in self.states:
            given = state.get(name)
            if name == "step" and self.counts_for_itself and not self._has_all(state):
                # A state that is made now starts at a first step.
                given = torch.zeros((), dtype=self.scalar, device=self.device)
                enter(state, {name: given}, self.generation)
            if given is None:
                if name == "step":
                    require_no_other(self.states, self._number_of(number), state)
                continue
            if name == "step":
                if not _is_count(given, self.device, self.reads_on_device):
                    given = torch.tensor(float(given), dtype=self.scalar, device=self.device)
                    enter(state, {name: given}, self.generation)
                self.stepper.bind_step_count(number, given.view(()))
                continue
            if not isinstance(given, torch.Tensor):
                raise TypeError(
                    f"the state `{name}` of parameter {self._number_of(number)} is {type(given)}; "
                    "give a tensor"
                )
            if name.endswith(SCALE):
                continue
            if name + SCALE in self.states:
                self._bind_blocks(number, name, state)
                continue
            found = self._memory(number, given)
            value = self._stored(number, name, found)
            if value is not given and value is not getattr(given, _LOCAL, None):
                enter(state, {name: self._shown(number, name, value)}, self.generation)
            self.stepper.bind_state(number, name, value)

    def _has_all(self, state: Mapping[str, Any]) -> bool:
        return all(state.get(name) is not None for name in self.states)

    def _share(self, bound: list[dict[str, Any]]) -> None:
        """Makes all parameters share the tensor that was bound last for a state of the group."""
        for name in RuleInterface(self.rule).group_states:
            having = [state for state in bound if state.get(name) is not None]
            for state in having:
                enter(state, {name: having[-1][name]}, self.generation)

    def _stored(self, number: int, name: str, value: torch.Tensor) -> torch.Tensor:
        """Converts a state to the rule's type and the parameter's layout."""
        # torch's momentum of sparse gradients is sparse.
        if value.is_sparse:
            value = value.to_dense()
        value = value.resolve_conj().resolve_neg()
        # If the user has chosen a storage type, a loaded state may have another one.
        wanted = _STATE_TYPES[self.rule.states[name]]
        if value.dtype != wanted and not value.is_complex():
            value = value.to(wanted)
        # torch gives some states the layout of the gradient.
        like = self.stepped[number]
        if value.shape == like.shape and value.stride() != like.stride():
            value = torch.empty_like(like, dtype=value.dtype).copy_(value)
        return value

    def _bind_blocks(self, number: int, name: str, state: dict[str, Any]) -> None:
        stored = self.rule.states[name]
        if name + SCALE not in state:
            raise refusal_of_numbers(self.rule, name)
        copies = self.stepper.bind_blocks(number, name, stored, state[name], state[name + SCALE])
        for part, copy in zip((name, name + SCALE), copies, strict=True):
            enter(state, {part: copy}, self.generation)

    def take_states(self) -> Iterator[tuple[torch.Tensor, dict[str, Any]]]:
        """See `StateSource`."""
        fresh, taken = self._taken()
        for number, state in zip(fresh, taken, strict=True):
            if state:
                yield self.params[number], state
            self.fresh.popleft()

    def _taken(self) -> tuple[list[int], list[dict[str, torch.Tensor]]]:
        """Returns the stepped tensors with states in `fresh`, and these states."""
        # In one call of C, so that Ctrl-C can't come before they are kept.
        self.fresh.extend(itertools.chain.from_iterable(map(_take_fresh, (self.stepper,))))
        fresh = list(self.fresh)
        taken: list[dict[str, torch.Tensor]] = [{} for _ in fresh]
        for name in self.states:
            if name == "step":
                numbers, tensors = range(len(fresh)), self.stepper.step_counts(fresh)
            else:
                numbers, tensors = self._states(fresh, name)
            for number, tensor in zip(numbers, tensors, strict=True):
                taken[number][name] = self._shown(fresh[number], name, tensor)
        return fresh, taken

    def _states(self, fresh: list[int], name: str) -> tuple[Any, list[torch.Tensor]]:
        try:
            return range(len(fresh)), self.stepper.states(fresh, name)
        except IndexError:
            # Only matrices or only vectors have this state.
            having = [i for i, param in enumerate(fresh) if self.stepper.has_state(param, name)]
            return having, self.stepper.states([fresh[i] for i in having], name)
