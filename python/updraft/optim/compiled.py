"""The compiled step of a `torch.optim.Optimizer`."""

import math
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

import torch

from ..caller_warnings import warn_caller
from ..compiled_rule import CompiledRule, require_probes
from ..errors import InvalidArgumentError, UnsupportedError
from ..package_definition import PackageDefinition
from ..probes import (
    CALLBACK_WITHOUT_PROBES,
    Callback,
    CallbackHandle,
    ProbeRow,
    require_callback,
    require_every,
)
from ..torch_private import swaps_params
from .adapter import listeners
from .assigned_states import AssignedStates, States
from .buckets import Bucket
from .clipping import GradientNorm, Spread, coefficient, require_max_norm, total_norm
from .compiled_group import Circumstances, CompiledGroup, require_together
from .correspondence import Choices, Correspondence, Group
from .devices import GradientScale, target_of
from .direct_parts import DirectParts
from .idle import IdleBucket
from .listeners import TOLD_OF_OPERATORS, Listening, in_dual_level, listening
from .matrix_views import kept_entries
from .part_choice import PartChoice
from .shared_memory import find_followers
from .state_storage import (
    drop_codes,
    name_codes,
    require_codes,
    scalar_dtype,
)
from .states import Generation, OptimizerState
from .step_hooks import has_hooks, hooked, opaque
from .stepped_part import SteppedPart
from .through_torch import TorchBucket


class _SupportsScaling:
    """Whether a `GradScaler` leaves unscaling and skipping to the step.

    Hooks and steps of subclasses expect that it has done both, as with torch's default steps. With
    `fused=True`, torch's constructor sets True on the optimizer.
    """

    def __get__(self, optimizer: Any, kind: type) -> bool:
        own = getattr(kind.step, "__wrapped__", None) is CompiledStep.step  # type: ignore[attr-defined]
        if not own or optimizer is None:
            return own
        return not optimizer._is_packaged and not has_hooks(optimizer)


class CompiledStep(PartChoice):
    """An optimizer's step with a compiled rule.

    A step doesn't write `.grad`. With a `torch.amp.GradScaler` it unscales the gradients as it
    reads them.
    """

    _step_supports_amp_scaling = _SupportsScaling()
    #: The maximum norm of all gradients after clipping; see `with_clipping`.
    max_grad_norm: float | None = None
    #: The norm before clipping in the last step.
    last_grad_norm: torch.Tensor | None = None
    error_if_nonfinite: bool = False
    param_groups: list[Group]
    _generation: Generation
    _compiled: list[CompiledGroup]
    #: Held during steps and changes of states. Reentrant: a hook or a tensor may step again.
    _stepping: threading.RLock
    #: Whether a step of several parts is in progress.
    _together: bool
    #: Steps all groups in one call; None if that is impossible, or not known yet.
    _direct: DirectParts | None
    #: Called with the rows of probed steps; None if there are none.
    _probe_callbacks: list[Callback] | None = None

    def _correspond(self, choices: Choices) -> None:
        """Makes later compilations use these choices instead of the class's defaults."""
        storage = choices.storage
        if storage is not None and not isinstance(storage, Mapping):
            raise TypeError(f"`storage` is {type(storage)}; give a dict, `{{name: value}}`")
        if storage and "grad" in storage:
            raise InvalidArgumentError(
                f"`storage` has `grad` = {storage['grad']}, but gradients of a torch optimizer "
                "have the parameter's type; leave `grad` out"
            )
        self.correspondence = replace(
            self._declared(),
            numerics=choices.numerics,
            storage=dict(storage or {}),
            probes=tuple(require_probes(choices.probes)),
            probe_every=require_every(choices.probe_every),
        )

    def _require_bf16_params(self) -> None:
        """Refuses a storage type of bf16 parameters if the optimizer has only others."""
        self.correspondence.require_bf16(
            param.dtype for group in self.param_groups for param in group["params"]
        )

    @property
    def _is_packaged(self) -> bool:
        """Whether a rule was compiled ahead of time. No code of such a rule scales gradients."""
        return any(
            isinstance(self._correspondence_of(group).rule, PackageDefinition)
            for group in self.param_groups
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
            # torch's constructor sets the first one.
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
        """Takes over states. The caller must not change their dicts any more."""
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
        packed: dict[str, Any] = super().state_dict()  # type: ignore[misc]
        # A hook may have returned another dict.
        if "state" in packed:
            packed["state"] = {
                key: self.packed_state(value) if isinstance(value, dict) else value
                for key, value in packed["state"].items()
            }
            name_codes(self, packed)
        return packed

    def packed_state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the states of a parameter in the form of `state_dict`."""
        return dict(state)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a `state_dict` of this class or of torch's.

        Classes that torch also has convert floating-point states to the parameter's dtype, as torch
        does, except for scalars and for states whose storage was chosen. Other classes keep the
        dtypes of states.
        """
        with self._stepping:
            self._load(state_dict)

    def _load(self, state_dict: dict[str, Any]) -> None:
        loading: list[dict[str, Any]] = []

        # Hooks may replace the dict. This one runs last.
        def take(optimizer: torch.optim.Optimizer, given: dict[str, Any]) -> dict[str, Any]:
            given = self._translated(given)
            self._check_loaded(given)
            groups = kept_entries(given["param_groups"], self.param_groups)
            given = {**given, "param_groups": groups}
            loading.append(given)
            return given

        # This one runs first, so that the caller's hooks get the states as they stay.
        def restore(optimizer: torch.optim.Optimizer) -> None:
            self._restore_types(loading[-1])

        before = self.register_load_state_dict_pre_hook(take)  # type: ignore[attr-defined]
        after = self.register_load_state_dict_post_hook(restore, prepend=True)  # type: ignore[attr-defined]
        try:
            super().load_state_dict(state_dict)  # type: ignore[misc]
        finally:
            before.remove()
            after.remove()

    def _translated(self, state_dict: dict[str, Any]) -> dict[str, Any]:
        """Returns a `state_dict` of another package in the form of this class."""
        return state_dict

    def _check_loaded(self, state_dict: dict[str, Any]) -> None:
        """Refuses a `state_dict` that doesn't fit, after hooks may have changed it."""
        require_codes(self, state_dict)

    def _restore_types(self, state_dict: dict[str, Any]) -> None:
        """Gives loaded states the dtypes that they keep."""
        drop_codes(self.param_groups)
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
        """Whether a loaded state keeps its dtype."""
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
                "probes": self.correspondence.probes,
                "probe_every": self.correspondence.probe_every,
            }
        mine["state"] = self._states.plain()
        return super().__getstate__() | mine  # type: ignore[misc,operator]

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "state" in state:
            self._adopt(state.pop("state"))
        if "choices" in state:
            self._correspond(Choices(**state.pop("choices")))
        super().__setstate__(state)  # type: ignore[misc]

    def release(self) -> None:
        """Drops references to the parameters until the next step.

        Call it before `torch.utils.swap_tensors`, which refuses tensors with other references.
        """
        with self._stepping:
            # The compiled groups hold the states that aren't entered yet.
            self._states.fill()
            self._compiled = []
            self._direct = None

    def _look_who_listens(self) -> None:
        """Drops the compiled groups if the listeners require another kind of step."""
        found = listening()
        if found != self._listening:
            self.release()
            self._listening = found

    def _circumstances(self, scaled: bool) -> Circumstances:
        return (self._generation.number, scaled, swaps_params(), scalar_dtype())

    def _compile(self, scaled: bool) -> tuple[list[CompiledGroup], list[int]]:
        """Returns the compiled groups, after updating them for changed groups and states, and the
        indices of those whose hyperparameters must be accepted.
        """
        if listeners() & TOLD_OF_OPERATORS or in_dual_level() or self._listening:
            self._look_who_listens()
        if self._states.others:
            self._states.look()
        compiled = self._compiled
        changed: list[int] = []
        if len(compiled) > len(self.param_groups):
            del compiled[len(self.param_groups) :]
            self._direct = None
        first = 0
        circumstances = self._circumstances(scaled)
        for number, group in enumerate(self.param_groups):
            entry = compiled[number] if number < len(compiled) else None
            if entry is None or not entry.is_taken(first, group, circumstances):
                if entry is None or not entry.matches(first, group, circumstances):
                    self._direct = None
                    made = CompiledGroup(self, first, group, circumstances)
                    compiled[number : number + 1] = [made]
                changed.append(number)
            first += len(compiled[number].params)
        return compiled, changed

    def _clip(self, compiled: list[CompiledGroup], factor: float) -> float:
        """Returns the factor that unscales gradients, as `factor` does, and clips them."""
        assert self.max_grad_norm is not None
        require_max_norm(self.max_grad_norm)
        if self._listening == Listening.TRANSFORMS or any(
            group.get("differentiable") for group in self.param_groups
        ):
            raise UnsupportedError(
                "`max_grad_norm` makes the step read a norm as a number, which torch cannot trace "
                "or differentiate; set it to None and clip the gradients before the step"
            )
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

    # torch wraps the `step` of a class with this function.
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
        # A GradScaler sets these during the call.
        scale, found_inf = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        if found_inf is not None and not isinstance(found_inf, torch.Tensor):  # 0: no gradients
            found_inf = None
        if found_inf is not None and target_of(found_inf) is None and found_inf.item():
            return loss
        with self._stepping:
            if self._together:
                raise RuntimeError(
                    "a parameter called `step` of its optimizer during a step; call it in a hook "
                    "of the optimizer, or after the step"
                )
            try:
                self._step_all(scale, found_inf)
            except BaseException:
                # A GradScaler removes them only after a step without an error.
                vars(self).pop("grad_scale", None)
                vars(self).pop("found_inf", None)
                raise
            finally:
                if self._states.others:
                    self._states.settle()
        if self._probe_callbacks:
            self._call_back(self._probe_callbacks)
        return loss

    @property
    def probe_every(self) -> int:
        """1 probes each step, 20 every 20th, 0 none. It may be changed at any time."""
        return self.correspondence.probe_every

    @probe_every.setter
    def probe_every(self, every: int) -> None:
        with self._stepping:
            self._set_probe_every(require_every(every))
            for bucket in self._probed_buckets():
                bucket.stepper.set_probe_every(self.probe_every)

    def _set_probe_every(self, every: int) -> None:
        """Remembers it for buckets that are made later."""
        self.correspondence = replace(self.correspondence, probe_every=every)

    def _probed_buckets(self) -> list[Bucket]:
        return [
            bucket
            for entry in self._compiled
            for bucket in entry.buckets
            if isinstance(bucket, Bucket) and bucket.rule.probes
        ]

    def probe_values(self) -> list[ProbeRow]:
        """Returns the probes of the steps since the last call: a row for each parameter that had a
        gradient, with its name if the groups have names, else its number. Doesn't wait for a step
        that is running. At least 16 steps are kept; older ones are lost, and so are those before a
        change of the parameter groups. A sharded parameter has the probes of its local shard. Has
        no rows of parameters that torch's operators step (`differentiable=True`).
        """
        names = {
            number: name
            for number, name in enumerate(
                name
                for group in self.param_groups
                for name in group.get("param_names", [None] * len(group["params"]))
            )
            if name is not None
        }
        return [
            ProbeRow(step, str(names.get(number, number)), values)
            for bucket in self._probed_buckets()
            for step, number, values in bucket.take_probes()
        ]

    def register_probe_callback(self, callback: Callback) -> CallbackHandle:
        """Calls a function with the rows of each probed step, after the step. `probe_values` then
        returns nothing. The handle has `remove()`. See `updraft.probes` for writers.
        """
        if self._probe_callbacks is None:
            self._probe_callbacks = []
        self._probe_callbacks.append(require_callback(callback))
        return CallbackHandle(self._probe_callbacks, callback)

    def _call_back(self, callbacks: Sequence[Callback]) -> None:
        if rows := self.probe_values():
            for callback in list(callbacks):
                callback(rows)
        else:
            # Parts of other kinds may have rules with probes that aren't compiled yet, or never.
            parts = [bucket for entry in self._compiled for bucket in entry.buckets]
            if parts and all(isinstance(part, Bucket) and not part.rule.probes for part in parts):
                warn_caller(CALLBACK_WITHOUT_PROBES)

    def _step_all(self, scale: torch.Tensor | None, found_inf: torch.Tensor | None) -> None:
        """Steps all groups, or none if one is refused."""
        factor: float | GradientScale | None = None if scale is None else GradientScale(scale)
        scaled = scale is not None or self.max_grad_norm is not None
        states = self._states
        compiled, changed = self._compile(scaled)
        # If every part reads `found_inf` on its device, the CPU needn't wait for it. Clipping waits
        # anyway, and must not raise an error for the norm of a step that is skipped.
        if found_inf is not None and target_of(found_inf) is not None:
            parts = (bucket for entry in compiled for bucket in entry.buckets)
            waits = self.max_grad_norm is not None
            waits = waits or not all(part.reads_on_device for part in parts)
            if waits and found_inf.item():
                return
        if self.max_grad_norm is not None:
            factor = self._clip(compiled, 1.0 if factor is None else float(factor))
        # Errors are raised before anything is stepped.
        self._accept(compiled, changed, factor)
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
                # Ctrl-C raises after the step, which may have created states.
                direct.expect(states)
                raise
            if not outcome or direct.finish(outcome, states):
                return
        self._step_in_halves(compiled, states, factor, found_inf)

    def _step_in_halves(
        self,
        compiled: list[CompiledGroup],
        states: States,
        factor: float | GradientScale | None,
        found_inf: torch.Tensor | None,
    ) -> None:
        """Steps all parts, or none if one refuses. Recreates parts that don't fit their parameters
        any more.
        """
        prepared: list[SteppedPart] = []
        done: set[SteppedPart] = set()
        self._together = sum(len(entry.buckets) for entry in compiled) > 1
        try:
            # Operators can run code of tensors, which can free memory of other tensors. So parts
            # that call operators are prepared before compiled ones, and applied after them.
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
                            self._remake(entry, position, group, factor)
            # In each kind the order stays: a part reads memory that an earlier one has written.
            prepared.sort(key=attrgetter("calls_operators"))
            if any(isinstance(part, TorchBucket) and part.follows is None for part in prepared):
                find_followers([part for part in prepared if not isinstance(part, IdleBucket)])
            prepared.reverse()
            while prepared:
                prepared.pop().apply(states)
        finally:
            self._together = False
            for bucket in prepared:
                bucket.abandon()

    def _accept(
        self,
        compiled: list[CompiledGroup],
        changed: list[int],
        factor: float | GradientScale | None,
    ) -> None:
        """Accepts the hyperparameters of changed groups."""
        for number in changed:
            group, entry = self.param_groups[number], compiled[number]
            entry.taken = None
            for position in reversed(range(len(entry.buckets))):
                try:
                    entry.buckets[position].accept(group, factor)
                except ValueError:
                    # The rule was compiled for a flag whose value has changed.
                    self._remake(entry, position, group, factor)
            if not self._correspondence_of(group).divides_by_zero(group):
                entry.take(group, factor)
            elif any(param.grad is not None for param in entry.params):
                raise ZeroDivisionError("float division by zero")

    def accepted_rules(self) -> list[CompiledRule]:
        """Accepts the current hyperparameters, as a step does first, and returns the rules that
        step the groups. These are the same as before, unless other rules had to be compiled.

        Raises:
            ValueError: the rule cannot be compiled for the hyperparameters.
        """
        with self._stepping:
            compiled, changed = self._compile(scaled=False)
            self._accept(compiled, changed, None)
        return [bucket.rule for entry in compiled for bucket in entry.buckets if bucket.rule]

    def _remake(
        self,
        entry: CompiledGroup,
        position: int,
        group: Group,
        factor: float | GradientScale | None,
    ) -> None:
        """Recreates a bucket for its parameters and the group as they are now."""
        old = entry.buckets[position]
        members = zip(old.numbers, old.params, strict=True)
        made = self._make_buckets(group, members, entry.scaled)
        for bucket in made:
            bucket.accept(group, factor)
        entry.buckets[position : position + 1] = made
        self._direct = None
        require_together(entry.buckets)
