"""The step of a `torch.optim.Optimizer`, compiled."""

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from types import NoneType
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from ..caller_warnings import warn_caller
from ..compiled_rule import CompiledRule
from ..errors import UnsupportedError
from ..torch_private import require_fusible, swaps_params
from .adapter import listeners
from .assigned_states import AssignedStates, States
from .buckets import Bucket
from .clipping import GradientNorm, Spread, coefficient, require_max_norm, total_norm
from .correspondence import Correspondence, Group, reader
from .devices import GradientScale, target_of
from .direct_parts import DirectParts
from .idle import IdleBucket, is_idle
from .listeners import TOLD_OF_OPERATORS, Listening, listening
from .rule_interface import RuleInterface
from .shared_memory import is_overlap, layers_apart
from .stand_ins import (
    StandInBucket,
    WholeParametersError,
    need_stand_ins,
    needs_operators,
)
from .state_storage import made_by_state_types, scalar_dtype
from .states import Generation, OptimizerState
from .step_hooks import hooked, opaque
from .stepped_part import SteppedPart
from .through_torch import TorchBucket

#: What can be stepped together: those of one dtype, on one device.
_Kind = tuple[torch.dtype, torch.device, str | None]


@dataclass
class _Members:
    params: list[torch.Tensor] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)


def _require_together(buckets: list[SteppedPart]) -> None:
    """Refuses to step a group in parts by a rule that depends on all of it."""
    compiled = [bucket for bucket in buckets if isinstance(bucket, Bucket | TorchBucket)]
    if len(compiled) > 1 and any(RuleInterface(bucket.rule).by_group for bucket in compiled):
        devices = {target_of(bucket.params[0]) for bucket in compiled}
        kinds = [
            str(bucket.dtype)
            if len(devices) == 1
            else f"{bucket.dtype} on {target_of(bucket.params[0]) or 'cpu'}"
            for bucket in compiled
        ]
        # Parts of one kind that are stepped in the same way.
        if len(set(kinds)) == len(set(map(type, compiled))) == 1:
            raise UnsupportedError(
                f"the rule `{compiled[0].rule.name}` depends on a whole group, and one has "
                "parameters whose states differ in type; give all states of a name the same type"
            )
        raise UnsupportedError(
            f"the rule `{compiled[0].rule.name}` depends on a whole group, and one has "
            f"parameters that are stepped apart ({', '.join(dict.fromkeys(kinds))}); give each "
            "kind a group of its own, or clip with `updraft.optim.with_clipping`"
        )


# Equal values of these are the same to a rule, and none of them changes.
_CONSTANTS = (float, int, str, NoneType)


def is_constant(value: Any) -> bool:
    """Whether a value of a parameter group never changes, and is to a rule what equals it."""
    if isinstance(value, tuple):
        return all(map(is_constant, value))
    return isinstance(value, _CONSTANTS)


class _CompiledGroup:
    """What a parameter group was when it was compiled, and how it is stepped."""

    def __init__(self, optimizer: "CompiledStep", first: int, group: Group, scaled: bool) -> None:
        self.first = first
        self.params = list(group["params"])
        # `==` of lists compares different tensors by value: of these it may be true, of others it
        # raises RuntimeError.
        self.single = [
            i for i, param in enumerate(self.params) if is_lazy(param) or param.numel() == 1
        ]
        #: What the group had when its hyperparameters were taken, if that can be told by comparing.
        self.taken: Group | None = None
        self.scaled = scaled
        correspondences = optimizer._correspondences()
        self.read_settings = [
            reader(place)
            for correspondence in correspondences
            for place in correspondence.settings.values()
        ]
        self.sparse_of = correspondences[0].sparse_of
        self.settings = self.current_settings(group)
        self.seed = group.get("seed")
        self.swapping = swaps_params()
        self.scalar = scalar_dtype()
        self.norm: GradientNorm | None = None
        self.differentiable = group.get("differentiable")
        self.buckets = optimizer._make_buckets(group, enumerate(self.params, first), scaled)
        _require_together(self.buckets)
        self.generation = optimizer._generation.number

    def current_settings(self, group: Group) -> list[Any]:
        return [*(read(group, None) for read in self.read_settings), self.sparse_of(group)]

    def is_taken(self, first: int, group: Group, generation: int, scaled: bool) -> bool:
        """Whether the step can be taken without another look at the group: the usual case."""
        mine = self.params
        try:
            return (
                self.taken == group
                and all(mine[i] is group["params"][i] for i in self.single)
                and self.generation == generation
                and self.scaled == scaled
                and self.first == first
                and self.swapping == swaps_params()
                and self.scalar == scalar_dtype()
            )
        except RuntimeError:  # Tensors that are not the same were compared.
            return False

    def take(self, group: Group, factor: float | GradientScale | None) -> None:
        """Remembers the group as one whose hyperparameters the buckets have accepted."""
        others = (value for key, value in group.items() if key != "params")
        comparable = factor is None and all(map(is_constant, others))
        self.taken = group | {"params": self.params} if comparable else None

    def matches(self, first: int, group: Group, generation: int, scaled: bool) -> bool:
        """Whether the group and the states are still those that were compiled for."""
        mine, given = self.params, group["params"]
        if type(given) is not list:
            given = list(given)
        try:
            same = mine == given
        except RuntimeError:  # Tensors that are not the same were compared.
            return False
        return (
            same is True
            and all(mine[i] is given[i] for i in self.single)
            and self.generation == generation
            and self.scaled == scaled
            and self.first == first
            and self.seed == group.get("seed")
            and self.swapping == swaps_params()
            and self.scalar == scalar_dtype()
            and self.differentiable == group.get("differentiable")
            and self.settings == self.current_settings(group)
        )


class CompiledStep:
    """The step of an optimizer, with a compiled rule.

    `.grad` is only read. With a `torch.amp.GradScaler` the scale is taken out of the gradients
    within the step.
    """

    correspondence: Correspondence
    _step_supports_amp_scaling = True
    #: The largest norm of all gradients, which larger ones are scaled down to; see `with_clipping`.
    max_grad_norm: float | None = None
    #: The norm before clipping, of the last step.
    last_grad_norm: torch.Tensor | None = None
    error_if_nonfinite: bool = False
    param_groups: list[Group]
    #: The form of `state` that a step uses.
    _states: States
    _generation: Generation
    _compiled: list[_CompiledGroup]
    #: Held by a step, and by what it must not see half done. A hook or a tensor may step again.
    _stepping: threading.RLock
    #: Whether several parts are in the midst of a step.
    _together: bool
    #: What steps all groups, as they are compiled, in one call; None if it is not known.
    _direct: DirectParts | None
    #: What listened to operators when the groups were compiled.
    _listening: Listening

    def _correspond(self, numerics: str, storage: Mapping[str, Any] | None) -> None:
        """Compiles the rule with these choices in place of the class's own."""
        if storage is not None and not isinstance(storage, Mapping):
            raise TypeError(f"`storage` is {type(storage)}; give a dict, `{{name: value}}`")
        self.correspondence = replace(
            self._declared(), numerics=numerics, storage=dict(storage or {})
        )

    def _declared(self) -> Correspondence:
        """The correspondence without the choices of this optimizer."""
        return type(self).correspondence

    @property
    def state(self) -> defaultdict[torch.Tensor, Any]:
        """The states of each parameter, in a dict by their names."""
        return self._states.mapping

    @state.setter
    def state(self, states: Any) -> None:
        if "_generation" not in self.__dict__:
            # That of the constructor of torch.
            self._adopt(states)
            return
        if not isinstance(states, MutableMapping):
            raise TypeError(f"`state` is {type(states)}; give a dict")
        with self._stepping:
            if states is self._states.mapping:
                return
            self._states.fill()
            self._generation.number += 1
            if isinstance(states, OptimizerState) and states.generation is self._generation:
                self._states = states
            else:
                self._states = AssignedStates(self._generation, states)

    def _adopt(self, states: Mapping[torch.Tensor, Any]) -> None:
        """Takes states whose dicts nobody else has."""
        if "_generation" not in self.__dict__:
            self._generation = Generation()
            self._compiled = []
            self._stepping = threading.RLock()
            self._together = False
            self._direct = None
            self._listening = Listening.NONE
        self._generation.number += 1
        self._states = OptimizerState.of(self._generation, states)

    def state_dict(self) -> dict[str, Any]:
        """Returns the state as `torch.optim.Optimizer.state_dict` does."""
        packed = super().state_dict()  # type: ignore[misc]
        # A hook may have returned another dict.
        if "state" in packed:
            packed["state"] = {
                key: self.packed_state(value) if isinstance(value, dict) else value
                for key, value in packed["state"].items()
            }
        return packed

    def packed_state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the states of a parameter as `state_dict` has them."""
        return dict(state)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads what `state_dict` returned, of this class or of torch's.

        The classes of torch convert states to the parameter's dtype, as torch does, except those
        that torch makes in another dtype. Optimizers of rules keep the dtype that states have.
        """
        with self._stepping:
            self._load(state_dict)

    def _load(self, state_dict: dict[str, Any]) -> None:
        # What hooks have made of it: this one is the last.
        loading = [state_dict]
        hook = self.register_load_state_dict_pre_hook(  # type: ignore[attr-defined]
            lambda optimizer, given: loading.append(given)
        )
        try:
            super().load_state_dict(state_dict)  # type: ignore[misc]
        finally:
            hook.remove()
        state_dict = loading[-1]
        saved = [number for group in state_dict["param_groups"] for number in group["params"]]
        params = [param for group in self.param_groups for param in group["params"]]
        for number, param in zip(saved, params, strict=True):
            for name, value in state_dict["state"].get(number, {}).items():
                loaded = self.state[param].get(name)
                # Older files have the step count as a number.
                both = isinstance(loaded, torch.Tensor) and isinstance(value, torch.Tensor)
                if both and loaded.dtype != value.dtype and self._keeps_type(name, value):
                    self.state[param][name] = value.to(loaded.device)

    def _keeps_type(self, name: str, value: torch.Tensor) -> bool:
        """Whether a state that is loaded stays in its own dtype."""
        mine = self.correspondence
        return (
            mine.states is None
            or name in mine.scalars
            or mine.is_chosen(name)
            or not value.is_floating_point()
        )

    def __getstate__(self) -> dict[str, Any]:
        mine: dict[str, Any] = {
            name: vars(self)[name]
            for name in ("max_grad_norm", "error_if_nonfinite")
            if name in vars(self)
        }
        if "correspondence" in vars(self):
            mine["choices"] = {
                "numerics": self.correspondence.numerics,
                "storage": self.correspondence.storage,
            }
        mine["state"] = self._states.plain()
        return super().__getstate__() | mine  # type: ignore[misc,operator]

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "state" in state:
            self._adopt(state.pop("state"))
        if "choices" in state:
            self._correspond(**state.pop("choices"))
        super().__setstate__(state)  # type: ignore[misc]

    def release(self) -> None:
        """Drops the references to parameters that the step holds, until the next step.

        For `torch.utils.swap_tensors`, which refuses a tensor that anything else refers to.
        """
        with self._stepping:
            # States that nobody has looked at are with what holds the references.
            self._states.fill()
            self._compiled = []
            self._direct = None

    def _look_who_listens(self) -> None:
        """Starts anew if the listeners require another kind of step."""
        found = listening()
        if found != self._listening:
            self.release()
            self._listening = found

    def _correspondences(self) -> tuple[Correspondence, ...]:
        """All rules that a step applies."""
        return (self.correspondence,)

    def _make_buckets(
        self, group: Group, members: Iterable[tuple[int, torch.Tensor]], scaled: bool
    ) -> list[SteppedPart]:
        """Returns what steps some parameters of a group.

        Each comes with its number among all parameters of the optimizer.
        """
        members = list(members)
        self._require_fused(group, members)
        in_graph = bool(group.get("differentiable"))
        listened = self._listening != Listening.NONE
        compiled: dict[_Kind, _Members] = defaultdict(_Members)
        through_torch: dict[_Kind, _Members] = defaultdict(_Members)
        idle = _Members()
        for number, param in members:
            if is_idle(param):
                chosen = idle
            else:
                by_operators = in_graph or listened or needs_operators(param)
                chosen = (through_torch if by_operators else compiled)[
                    param.dtype, param.device, target_of(param)
                ]
            chosen.numbers.append(number)
            chosen.params.append(param)
        buckets: list[SteppedPart] = [IdleBucket(idle.params, idle.numbers)] if idle.params else []
        refusals: dict[_Kind, WholeParametersError] = {}
        for kind, some in compiled.items():
            try:
                buckets += self._make_compiled(group, some, scaled)
            except WholeParametersError as refusal:
                # DTensor reduces over all ranks what is written as operations of torch.
                refusals[kind] = refusal
                apart = through_torch[kind]
                rest = _Members()
                for number, param, is_apart in zip(
                    some.numbers, some.params, refusal.apart, strict=True
                ):
                    chosen = apart if is_apart else rest
                    chosen.numbers.append(number)
                    chosen.params.append(param)
                buckets += self._make_compiled(group, rest, scaled)
        for kind, some in through_torch.items():
            try:
                made = self._make_through_torch(group, some, in_graph)
            except UnsupportedError as refusal:
                # Of a rule that there is no torch for.
                if kind in refusals:
                    raise refusals[kind] from None
                if in_graph or not listened or any(map(needs_operators, some.params)):
                    raise
                self._require_unseen(refusal)
                made = self._make_compiled(group, some, scaled)
            buckets += made
        return buckets

    def _require_fused(self, group: Group, members: Iterable[tuple[int, torch.Tensor]]) -> None:
        """Refuses the parameters that torch's fused steps refuse, with the same error."""
        if not group.get("fused") or "fused" in self.correspondence.settings:
            return
        for _, param in members:
            if param.grad is not None:
                require_fusible(param)

    def _require_unseen(self, refusal: UnsupportedError) -> None:
        """Refuses a compiled step, which torch does not see, if operators are traced or
        transformed. If a mode listens, warns that the mode does not see the step.
        """
        if self._listening == Listening.TRANSFORMS:
            raise UnsupportedError(
                f"{refusal}, so nothing can trace or transform the step; step outside of it"
            ) from None
        warn_caller(f"{refusal}, so the mode that is active does not see the step")

    def _make_compiled(self, group: Group, members: _Members, scaled: bool) -> list[SteppedPart]:
        if not members.params:
            return []
        kind = StandInBucket if need_stand_ins(members.params) else Bucket

        def bucket(
            correspondence: Correspondence, params: list[torch.Tensor], numbers: list[int]
        ) -> Bucket:
            return kind(correspondence, params, numbers, group, self._states, scaled)

        def make(params: list[torch.Tensor], numbers: list[int]) -> list[Bucket]:
            return made_by_state_types(self.correspondence, params, numbers, bucket)

        try:
            return [*make(members.params, members.numbers)]
        except ValueError as error:
            if not is_overlap(error):
                raise
            layers = layers_apart(members.params)
            if len(layers) == 1:
                raise
            made = [
                bucket
                for some in layers
                for bucket in make(
                    [members.params[i] for i in some], [members.numbers[i] for i in some]
                )
            ]
            if any(RuleInterface(layer.rule).by_group for layer in made):
                raise
            return [*made]

    def _make_through_torch(
        self, group: Group, members: _Members, in_graph: bool
    ) -> list[SteppedPart]:
        def make(
            correspondence: Correspondence, params: list[torch.Tensor], numbers: list[int]
        ) -> SteppedPart:
            return TorchBucket(correspondence, params, numbers, group, self._states, in_graph)

        return made_by_state_types(self.correspondence, members.params, members.numbers, make)

    def _compile(self, scaled: bool) -> tuple[list[_CompiledGroup], list[int]]:
        """Returns what steps each group, of what it and the states are now, and the numbers of
        those whose hyperparameters are to be accepted.
        """
        if listeners() & TOLD_OF_OPERATORS or self._listening:
            self._look_who_listens()
        if self._states.others:
            self._states.look()
        compiled = self._compiled
        changed: list[int] = []
        if len(compiled) > len(self.param_groups):
            del compiled[len(self.param_groups) :]
            self._direct = None
        first = 0
        generation = self._generation.number
        for number, group in enumerate(self.param_groups):
            if number == len(compiled):
                self._direct = None
                compiled.append(_CompiledGroup(self, first, group, scaled))
                changed.append(number)
            elif not compiled[number].is_taken(first, group, generation, scaled):
                if not compiled[number].matches(first, group, generation, scaled):
                    self._direct = None
                    compiled[number] = _CompiledGroup(self, first, group, scaled)
                changed.append(number)
            first += len(compiled[number].params)
        return compiled, changed

    def _clip(self, compiled: list[_CompiledGroup], factor: float) -> float:
        """Returns what gradients are multiplied by, of which `factor` takes a scale out."""
        assert self.max_grad_norm is not None
        require_max_norm(self.max_grad_norm)
        totals: dict[Spread, float] = defaultdict(float)
        for entry in compiled:
            before = dict(totals)
            while entry.norm is None or not entry.norm.add_squares(totals):
                totals = defaultdict(float, before)
                listened = self._listening != Listening.NONE
                entry.norm = GradientNorm(entry.params, listened)
        norm = total_norm(totals) * factor
        self.last_grad_norm = torch.tensor(norm)
        if self.error_if_nonfinite and not math.isfinite(norm):
            raise RuntimeError(
                "The total norm of order 2.0 for gradients from `parameters` is non-finite, so it "
                "cannot be clipped. To disable this error and scale the gradients by the "
                "non-finite norm anyway, set `error_if_nonfinite=False`"
            )
        return factor * coefficient(norm, self.max_grad_norm)

    # What torch wraps the step of a class in.
    profile_hook_step = staticmethod(hooked)

    @opaque
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Performs a single optimization step.

        Args:
            closure: reevaluates the model and returns the loss.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        # A GradScaler sets these for the time of the call.
        scale, found_inf = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        if found_inf is not None and target_of(found_inf) is None and found_inf.item():
            return loss
        with self._stepping:
            if self._together:
                raise RuntimeError(
                    "a parameter has stepped its optimizer while the optimizer steps it; step in a "
                    "hook of the optimizer, or after the step"
                )
            try:
                self._step_all(scale, found_inf)
            finally:
                if self._states.others:
                    self._states.settle()
        return loss

    def _step_all(self, scale: torch.Tensor | None, found_inf: torch.Tensor | None) -> None:
        """Steps all groups or, if something is refused, none."""
        factor: float | GradientScale | None = None if scale is None else GradientScale(scale)
        scaled = scale is not None or self.max_grad_norm is not None
        states = self._states
        compiled, changed = self._compile(scaled)
        # One that is on a device is read there, where every part does. A norm waits anyway, and
        # is refused where it is not finite.
        if found_inf is not None and target_of(found_inf) is not None:
            parts = (bucket for entry in compiled for bucket in entry.buckets)
            waits = self.max_grad_norm is not None
            waits = waits or not all(part.reads_on_device for part in parts)
            if waits and found_inf.item():
                return
        if self.max_grad_norm is not None:
            factor = self._clip(compiled, 1.0 if factor is None else float(factor))
        # What is refused is refused before anything is stepped.
        self._accept(compiled, changed, factor, scaled)
        direct = self._direct
        if direct is None:
            every = [part for entry in compiled for part in entry.buckets]
            direct = self._direct = DirectParts.of(every)
        if direct is not None:
            if direct.readers:
                direct.skip_where(found_inf)
            try:
                outcome = direct.take_step()
            except BaseException:
                # Ctrl-C interrupts after the step, whose states are there.
                direct.expect(states)
                raise
            if not outcome or direct.finish(outcome, states):
                return
        self._step_in_halves(compiled, states, factor, found_inf)

    def _step_in_halves(
        self,
        compiled: list[_CompiledGroup],
        states: States,
        factor: float | GradientScale | None,
        found_inf: torch.Tensor | None,
    ) -> None:
        """Steps all parts or, where one refuses, none. Makes those anew that are not what their
        parameters are.
        """
        prepared: list[SteppedPart] = []
        done: set[SteppedPart] = set()
        self._together = sum(len(entry.buckets) for entry in compiled) > 1
        try:
            # What tensors run as operators are called on them may free memory of others: it comes
            # before the compiled parts are prepared, or after they are applied.
            for is_first in (True, False):
                # Another thread may add a group meanwhile.
                for group, entry in zip(self.param_groups, compiled, strict=False):
                    position = 0
                    while position < len(entry.buckets):
                        bucket = entry.buckets[position]
                        if bucket in done or (is_first and not bucket.calls_operators):
                            position += 1
                            continue
                        if bucket.reads_on_device:
                            bucket.skip_where(found_inf)
                        if bucket.prepare(states):
                            prepared.append(bucket)
                            done.add(bucket)
                        else:
                            self._remake(entry.buckets, position, group, factor, entry.scaled)
            # Of those that share memory, each reads what the one before has written.
            prepared.sort(key=attrgetter("calls_operators"))
            prepared.reverse()
            while prepared:
                prepared.pop().apply(states)
        finally:
            self._together = False
            for bucket in prepared:
                bucket.abandon()

    def _accept(
        self,
        compiled: list[_CompiledGroup],
        changed: list[int],
        factor: float | GradientScale | None,
        scaled: bool,
    ) -> None:
        """Takes the hyperparameters of some groups."""
        for number in changed:
            group, entry = self.param_groups[number], compiled[number]
            entry.taken = None
            for position in reversed(range(len(entry.buckets))):
                try:
                    entry.buckets[position].accept(group, factor)
                except ValueError:
                    # A flag that the rule is compiled for follows from what has changed.
                    self._remake(entry.buckets, position, group, factor, scaled)
            if not self.correspondence.divides_by_zero(group):
                entry.take(group, factor)
            elif any(param.grad is not None for param in entry.params):
                raise ZeroDivisionError("float division by zero")

    def accepted_rules(self) -> list[CompiledRule]:
        """Takes what the groups have now, as a step does before anything is stepped, and returns
        the rules that it is stepped by: the same as before, unless others were compiled.

        Raises:
            ValueError: the rule cannot be compiled for the hyperparameters.
        """
        with self._stepping:
            compiled, changed = self._compile(scaled=False)
            self._accept(compiled, changed, None, scaled=False)
        buckets = [bucket for entry in compiled for bucket in entry.buckets]
        return [bucket.rule for bucket in buckets if isinstance(bucket, Bucket | TorchBucket)]

    def _remake(
        self,
        buckets: list[SteppedPart],
        position: int,
        group: Group,
        factor: float | GradientScale | None,
        scaled: bool,
    ) -> None:
        """Makes a bucket anew, of what its parameters and the group are now."""
        members = zip(buckets[position].numbers, buckets[position].params, strict=True)
        made = self._make_buckets(group, members, scaled)
        for bucket in made:
            bucket.accept(group, factor)
        buckets[position : position + 1] = made
        self._direct = None
        _require_together(buckets)
