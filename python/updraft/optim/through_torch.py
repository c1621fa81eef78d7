"""Steps with operations of torch, generated from the same rule by `RuleDefinition.to_torch`."""

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from ..derived_flags import DerivedFlags
from ..errors import UnsupportedError
from ..torch_private import CreationMeta, base_of_view, creation_meta, is_view, local_tensor
from ..torch_step import number_of
from .assigned_states import States
from .buckets import require_no_other, require_pairs, require_storage
from .correspondence import AS_DENSE, Correspondence, Group, reader, setting_choices, specialize
from .devices import GradientScale
from .rule_interface import RuleInterface
from .stand_ins import (
    OVERLAP,
    distributed_like,
    is_distributed,
    of_dtype,
    overlaps_itself,
    require_mutable,
)
from .state_storage import (
    STORAGE,
    require_complex_storage,
    require_state_types,
    scalar_dtype,
)
from .states import enter


def _real(tensor: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def _whole(value: torch.Tensor) -> torch.Tensor:
    return value.full_tensor() if is_distributed(value) else value


def _listed(grad: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
    """Returns a mask of the elements that a sparse gradient lists, with `grad`'s dimensions."""
    dims = sparse.sparse_dim()
    indices = sparse.coalesce().indices()
    if dims:
        listed = torch.zeros(sparse.shape[:dims], dtype=torch.bool, device=indices.device)
        listed[tuple(indices)] = True
    else:
        listed = torch.tensor(indices.shape[1] > 0, device=indices.device)
    return listed.reshape((*listed.shape, *(1,) * (grad.dim() - dims)))


def _placed_like(param: torch.Tensor, value: torch.Tensor, by_element: bool) -> torch.Tensor:
    """Places a result like a compiled step: values per element like the parameter, and all others
    on every rank.
    """
    if not is_distributed(value) or not is_distributed(param) or value.dim() == 0 < param.dim():
        return _whole(value)
    from torch.distributed.tensor import Replicate

    replicated = (Replicate(),) * param.device_mesh.ndim
    placements = param.placements if by_element else replicated
    if value.placements != placements:
        value = value.redistribute(placements=placements)
    local = local_tensor(value)
    if local.numel() == 0:
        # If gloo lacks all-to-all, torch makes an empty part whose memory can't be copied.
        return distributed_like(value, torch.empty_like(local))
    # If a collective is still running, `to_local` waits for it.
    known = type(local) is torch.Tensor
    return value if known else distributed_like(value, value.to_local())


def _require_writable(param: torch.Tensor, new: torch.Tensor) -> None:
    """Refuses a parameter that torch can't write in a step that autograd records."""
    if overlaps_itself(param):
        raise RuntimeError(OVERLAP)
    require_mutable(param)
    if not (param.requires_grad or new.requires_grad):
        return
    base = base_of_view(param) if is_view(param) else None
    if base is not None:
        made = creation_meta(param)
        if made != CreationMeta.DEFAULT:
            raise RuntimeError(
                f"a view was created as {made.name} and is being modified inplace, which autograd "
                "cannot follow; give a clone"
            )
    for tensor, what in ((param, "a leaf"), (base, "a view of a leaf")):
        if tensor is not None and tensor.is_leaf and tensor.requires_grad:
            raise RuntimeError(
                f"{what} Variable that requires grad is being used in an in-place operation."
            )


class _Computed(NamedTuple):
    """The results of a step before they are written."""

    taken: list[int]
    params: list[torch.Tensor]
    grads: list[torch.Tensor]
    news: list[torch.Tensor]
    after: dict[str, Any]


class TorchBucket:
    """Parameters like those of a `Bucket`, stepped with operations of torch.

    With `in_graph`, for `differentiable=True`, autograd records the step, and states become new
    tensors. Otherwise states keep their tensors. This is for subclasses that intercept operators,
    devices without compiled steps, active modes of torch, and reductions over sharded DTensors.
    """

    reads_on_device = False
    calls_operators = True

    def __init__(
        self,
        correspondence: Correspondence,
        params: list[torch.Tensor],
        numbers: list[int],
        group: Group,
        states: States,
        in_graph: bool,
        stepped: list[torch.Tensor] | None = None,
    ) -> None:
        self.dtype = dtype = params[0].dtype
        require_storage(correspondence, dtype)
        self.correspondence = correspondence
        self.params = params
        self.numbers = numbers
        #: The tensors that are stepped, with the gradients in their `.grad`.
        self.stepped = params if stepped is None else stepped
        self.in_graph = in_graph
        self.distributed = any(map(is_distributed, params))
        self.read_hypers = {name: reader(place) for name, place in correspondence.hypers.items()}
        real = dtype.to_real()

        def make(settings: dict[str, Any]) -> None:
            storage = correspondence.storage_for(STORAGE[real])
            self.function = correspondence.definition.to_torch(defaults=settings, storage=storage)
            self.rule = self.function._module(real, self._hypers(group))[0].rule
            self.flags = DerivedFlags(self.rule)
            self.accept(group, None)

        hypers = self._hypers(group)
        specialize(make, setting_choices(correspondence, group, self._numbers(hypers)))
        if dtype.is_complex:
            require_pairs(self.rule)
            require_complex_storage(correspondence, self.rule)
        given = [states.of_param(param) or {} for param in (params if states else ())]
        if given:
            require_state_types(correspondence, self.rule, numbers, given)
        self.scalar = scalar_dtype(group)
        self.interface = RuleInterface(self.rule)
        self.states = correspondence.state_names(self.rule.states)
        # Step counts by parameter, for states without one.
        self.counts: dict[int, torch.Tensor] = {}
        self.made: deque[tuple[torch.Tensor, dict[str, Any]]] = deque()
        self.stepping: _Computed | None = None
        #: Whether an earlier part of the step writes memory of these parameters; None if unknown.
        self.follows: bool | None = None

    def take_states(self) -> Iterator[tuple[torch.Tensor, dict[str, Any]]]:
        """See `StateSource`."""
        while self.made:
            param, state = self.made[0]
            if state:
                yield param, state
            self.made.popleft()

    def _hypers(self, group: Group) -> dict[str, Any]:
        return {name: read(group, self.dtype) for name, read in self.read_hypers.items()}

    @staticmethod
    def _numbers(hypers: dict[str, Any]) -> dict[str, float]:
        return {name: number_of(value) for name, value in hypers.items()}

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """Does nothing. The caller must check `found_inf` before a step."""

    def accept(self, group: Group, factor: float | GradientScale | None) -> None:
        """Accepts the group's current hyperparameters, like `Bucket.accept`."""
        with torch.set_grad_enabled(self.in_graph):
            hypers = self._hypers(group)
        self.flags.require(self._numbers(hypers))
        self.hypers = hypers
        self.factor = None if factor is None else float(factor)
        self.sparse = self.correspondence.sparse_of(group)

    def prepare(self, states: States) -> bool:
        """See `SteppedPart`. Computes the results that `apply` writes."""
        self.stepping = None
        with torch.set_grad_enabled(self.in_graph):
            taken = [number for number, param in enumerate(self.stepped) if param.grad is not None]
            if taken:
                self.stepping = self._compute(taken, states)
        return True

    def apply(self, states: States) -> None:
        """See `SteppedPart`."""
        computed, self.stepping = self.stepping, None
        if computed is not None:
            with torch.set_grad_enabled(self.in_graph):
                if self.follows:
                    computed = self._compute(computed.taken, states)
                self._write(computed, states)

    def abandon(self) -> None:
        """See `SteppedPart`."""
        self.stepping = None

    def require_takes(self, grad: torch.Tensor) -> None:
        """Refuses a sparse or dense gradient that the rule doesn't support."""
        if grad.is_sparse:
            if self.sparse is not None and self.sparse != AS_DENSE:
                raise RuntimeError(self.sparse)
        elif self.correspondence.dense:
            raise RuntimeError(self.correspondence.dense)

    def _require_rows(self, number: int, grad: torch.Tensor) -> None:
        """Refuses a gradient of some rows if they can't be stepped without the others."""
        interface = self.interface
        whole_rows = grad.dim() < 2 or (grad.dim() == 2 and grad.sparse_dim() < 2)
        if not interface.steps_rows or (interface.by_rows and not whole_rows):
            raise UnsupportedError(
                f"operators of torch can't step some rows of parameter {self.numbers[number]}: the "
                f"rule `{self.rule.name}` depends on other elements of the parameter or the group; "
                "give a gradient of the whole parameter"
            )

    def _gradient(self, param: torch.Tensor) -> torch.Tensor:
        grad = param.grad
        assert grad is not None
        self.require_takes(grad)
        grad = of_dtype(grad, param.dtype)
        if grad.is_sparse:
            grad = grad.to_dense()
        if is_distributed(param):
            grad = grad.redistribute(placements=param.placements)
        return _real(grad if self.factor is None else grad * self.factor)

    def _compute(self, taken: list[int], states: States) -> "_Computed":
        stepped = [self.stepped[i] for i in taken]
        # The graph keeps the old values of the parameters.
        params = [_real(param.clone() if self.in_graph else param) for param in stepped]
        grads = [self._gradient(param) for param in stepped]
        before = {
            place: self._before(number, params[place], states)
            for place, number in enumerate(taken)
            if states.of_param(self.params[number])
        }
        # Every parameter has the states of the group, which the function takes once.
        shared = {
            name: state.pop(name)
            for state in before.values()
            for name in self.interface.group_states
            if name in state
        }
        with self._scalars_of_all_ranks():
            news, after = self.function(
                params, grads, {"params": before, "group": shared}, **self.hypers
            )
        for place, number in enumerate(taken):
            grad = stepped[place].grad
            assert grad is not None
            if grad.is_sparse and self.sparse is None:
                self._require_rows(number, grad)
                param, state = params[place], after["params"][place]
                old = before.get(place) or self.function.initial(param, **self.hypers)
                listed = _listed(grads[place], grad)
                news[place] = torch.where(listed, news[place], param)
                self._keep_others(listed, state, old)
        if self.in_graph:
            for param, new in zip(stepped, news, strict=True):
                _require_writable(param, new)
        return _Computed(taken, params, grads, news, after)

    def _keep_others(
        self, listed: torch.Tensor, state: dict[str, Any], old: dict[str, Any]
    ) -> None:
        """Sets the states of rows that a sparse gradient doesn't list to the old ones."""
        for name in self.interface.element_states | self.interface.row_states:
            if name in state:
                kept = old[name].to(state[name].dtype)
                state[name] = torch.where(listed, state[name], kept)

    def _write(self, computed: "_Computed", states: States) -> None:
        params, grads, after = computed.params, computed.grads, computed.after
        for place, number in enumerate(computed.taken):
            param = self.stepped[number]
            new = _placed_like(params[place], computed.news[place], True)
            param.copy_(torch.view_as_complex(new) if param.is_complex() else new)
            given = params[place], grads[place]
            values = {
                name: value.clone()
                if any(value is tensor for tensor in given)
                else _placed_like(params[place], value, name in self.interface.element_states)
                for name, value in (after["params"][place] | after["group"]).items()
            }
            self._after(number, values, states)
        if self.made:
            states.expect(self)

    def _scalars_of_all_ranks(self) -> contextlib.AbstractContextManager[None]:
        if not self.distributed:
            return contextlib.nullcontext()
        from torch.distributed.tensor.experimental import implicit_replication

        return implicit_replication()

    def _before(self, number: int, param: torch.Tensor, states: States) -> dict[str, torch.Tensor]:
        given = states.of_param(self.params[number])
        known = {
            name: _real(given[name])
            for name in self.states
            if name != "step" and given.get(name) is not None
        }
        if "step" in self.states and given.get("step") is None:
            require_no_other(self.states, self.numbers[number], given)
        # A parameter with states has taken at least one step.
        count = given.get("step", self.counts.get(number, 1))
        known["step"] = torch.as_tensor(count).detach().to(torch.float64, copy=True)
        return self.function.initial(param, **self.hypers) | known

    def _after(self, number: int, values: dict[str, torch.Tensor], states: States) -> None:
        param = self.params[number]
        self.counts[number] = values["step"] = _whole(values["step"].detach())
        state = states.of_param(param)
        if state is None:
            state = {}
            self.made.append((param, state))
        for name in self.states:
            if name not in values:
                continue
            value, old = values[name], state.get(name)
            if name == "step":
                value = value.detach().to(self.scalar)
                if isinstance(old, torch.Tensor):
                    old.detach().copy_(value)
                else:
                    enter(state, {name: value}, states.generation)
                continue
            if param.is_complex() and value.shape == (*param.shape, 2):
                value = torch.view_as_complex(value)
            if (
                old is None
                or self.in_graph
                or old.shape != value.shape
                or type(old) is not type(value)
            ):
                enter(state, {name: value}, states.generation)
            else:
                old.copy_(value)
