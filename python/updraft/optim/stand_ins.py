"""Stand-ins for parameters that a compiled step can't take directly."""

import functools
from collections.abc import Iterable
from typing import Any

import torch

from ..errors import UnsupportedError
from ..torch_private import (
    DispatchKey,
    dispatch_keys,
    internal_overlap,
    local_tensor,
    swaps_params,
)
from .assigned_states import States
from .buckets import SCALE, Bucket
from .rule_interface import RuleInterface

_PLAIN = (torch.nn.Parameter, torch.Tensor)


@functools.cache
def _dtensor_types() -> tuple[type, ...]:
    if not torch.distributed.is_available():
        return ()
    from torch.distributed.tensor import DTensor

    return (DTensor,)


def is_distributed(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a DTensor."""
    return type(tensor) not in _PLAIN and isinstance(tensor, _dtensor_types())


def is_wrapper(tensor: torch.Tensor) -> bool:
    """Whether a tensor intercepts operators and isn't a DTensor."""
    if type(tensor) in _PLAIN or is_distributed(tensor):
        return False
    intercepts: bool = dispatch_keys(tensor).has(DispatchKey.Python)
    return intercepts


def needs_operators(tensor: torch.Tensor) -> bool:
    """Whether only operators of torch can step a tensor: it intercepts them, or rules can't be
    compiled for its device.
    """
    return is_wrapper(tensor) or tensor.device.type not in ("cpu", "cuda")


def local_part(tensor: torch.Tensor) -> torch.Tensor:
    """Returns this rank's part of a DTensor, or another tensor itself."""
    return local_tensor(tensor) if is_distributed(tensor) else tensor


def distributed_like(param: torch.Tensor, local: torch.Tensor) -> torch.Tensor:
    """Returns a DTensor that is placed like `param`, with `local` as this rank's part."""
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(
        local,
        param.device_mesh,
        param.placements,
        run_check=False,
        shape=param.shape,
        stride=param.stride(),
    )


def need_stand_ins(params: Iterable[torch.Tensor]) -> bool:
    """Whether a compiled step may be unable to take the parameters directly."""
    return swaps_params() or any(map(_needs_stand_in, params))


def _needs_stand_in(param: torch.Tensor) -> bool:
    as_usual = param.is_contiguous() and not param.is_neg()
    return not as_usual or (type(param) not in _PLAIN and is_distributed(param))


def memory_layout(tensor: torch.Tensor) -> tuple[int, torch.Size, tuple[int, ...]]:
    """Returns a tensor's address, shape and strides. Setting `.data` changes them."""
    return tensor.data_ptr(), tensor.shape, tensor.stride()


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill one range of memory, without gaps or overlap."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return tensor.numel() == 0
            expected *= size
    return True


def of_dtype(grad: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Converts a gradient to the parameter's dtype. `Tensor.grad_dtype` allows another dtype."""
    return grad.to(dtype) if grad.dtype != dtype and torch.can_cast(grad.dtype, dtype) else grad


#: torch's error for a write to a tensor that overlaps itself.
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single "
    "memory location. Please clone() the tensor before performing the operation."
)


def overlaps_itself(tensor: torch.Tensor) -> bool:
    """Whether elements share memory, as in an expanded tensor."""
    overlaps: bool = internal_overlap(tensor) == 1
    return overlaps


def require_mutable(param: torch.Tensor) -> None:
    """Refuses a tensor of inference mode outside this mode, as torch does."""
    if param.is_inference() and not torch.is_inference_mode_enabled():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. You can make "
            "a clone to get a normal tensor before doing inplace update."
        )


class StandIn:
    """A tensor with a parameter's memory, or with a copy of its values.

    C++ refers to this tensor instead of the parameter.
    """

    def __init__(self, param: torch.Tensor, in_order: bool) -> None:
        self.param = param
        self.distributed = is_distributed(param)
        self.local = self._local()
        self.known = memory_layout(self.local)
        self.copied = (
            not is_dense(self.local)
            or self.local.is_neg()
            or (in_order and not self.local.is_contiguous())
        )
        self.overlaps = overlaps_itself(self.local)
        if self.copied:
            self.tensor = torch.empty(self.local.shape, dtype=param.dtype, device=self.local.device)
        else:
            self.tensor = self.local.data

    def _local(self) -> torch.Tensor:
        return local_part(self.param)

    def has_moved(self) -> bool:
        """Whether the parameter's memory or layout has changed."""
        return self._local() is not self.local or memory_layout(self.local) != self.known

    def gradient(self) -> torch.Tensor | None:
        """Returns the gradient for the stand-in; None if the parameter doesn't have one."""
        grad = self.param.grad
        if grad is None:
            return None
        grad = of_dtype(grad, self.param.dtype)
        if not self.distributed:
            return grad
        placements = self.param.placements
        if grad.placements != placements:
            grad = grad.redistribute(placements=placements)
        local: torch.Tensor = local_tensor(grad)
        # If a collective is still running, `to_local` waits for it.
        return local if type(local) is torch.Tensor else grad.to_local()

    def require_writable(self) -> None:
        """Refuses a parameter that `store` can't write, before anything is stepped."""
        if self.overlaps:
            raise RuntimeError(OVERLAP)
        require_mutable(self.param)

    def load(self) -> None:
        """Updates a copy from the parameter."""
        if self.copied:
            self.tensor.view(self.local.shape).copy_(self.local)

    def store(self) -> None:
        """Updates the parameter from a copy, and its version for autograd."""
        if self.copied:
            self.local.copy_(self.tensor.view(self.local.shape))
        elif self.distributed:
            torch.autograd.graph.increment_version(self.local)
        torch.autograd.graph.increment_version(self.param)


def is_sharded(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a DTensor that isn't replicated on all ranks."""
    return is_distributed(tensor) and any(not p.is_replicate() for p in tensor.placements)


class WholeParametersError(UnsupportedError):
    """A rule reduces over parameters, and this rank has only parts of them.

    Attributes:
        apart: for each parameter, whether a compiled step can't take it.
    """

    def __init__(self, rule: str, by_group: bool, params: list[torch.Tensor]) -> None:
        self.apart = [is_distributed(param) if by_group else is_sharded(param) for param in params]
        placements = next(param.placements for param in params if is_distributed(param))
        super().__init__(
            f"the rule `{rule}` reduces over whole parameters, but a parameter has the placements "
            f"{placements}; replicate it, or use an element-wise rule"
        )


class LocalBucket(Bucket):
    """A bucket that can step this rank's parts of DTensors. Their states are DTensors, too."""

    def _require_no_blocks(self, params: Iterable[torch.Tensor]) -> None:
        """Refuses DTensors if the rule has states in blocks: each rank would have its own scales,
        which no placement describes.
        """
        names = [name for name in self.rule.states if name + SCALE in self.rule.stored_states]
        if names and any(map(is_distributed, params)):
            raise UnsupportedError(
                f"the rule `{self.rule.name}` stores the state `{names[0]}` in blocks of codes, "
                "which parameters that are DTensors can't have; give it another `storage`, such "
                'as "bf16"'
            )

    @functools.cached_property
    def _element_states(self) -> set[str]:
        return RuleInterface(self.rule).element_states

    def _memory(self, number: int, state: Any) -> Any:
        if not is_distributed(state):
            return state
        param = self.params[number]
        if state.shape == param.shape and state.placements != param.placements:
            state = state.redistribute(placements=param.placements)
        return local_tensor(state)

    def _shown(self, number: int, name: str, state: torch.Tensor) -> torch.Tensor:
        param = self.params[number]
        if not is_distributed(param) or name == "step" or state.dim() == 0 < param.dim():
            return state
        if name in self._element_states:
            return distributed_like(param, state)
        from torch.distributed.tensor import DTensor, Replicate

        mesh = param.device_mesh
        return DTensor.from_local(state, mesh, [Replicate()] * mesh.ndim, run_check=False)


class StandInBucket(LocalBucket):
    """A bucket with stand-ins, for parameters that are DTensors, have gaps or may be swapped.

    If it doesn't need any, it steps the parameters themselves.
    """

    #: Whether the rule changes parameters.
    writes = True

    def _tensors(self, params: list[torch.Tensor]) -> list[torch.Tensor]:
        interface = RuleInterface(self.rule)
        self.stand_ins = [StandIn(param, interface.in_order) for param in params]
        if interface.reduces:
            self._require_whole(interface, params)
        self._require_no_blocks(params)
        if not (swaps_params() or any(each.copied or each.distributed for each in self.stand_ins)):
            # The order of a parameter's elements in memory doesn't matter to the rule.
            self.stand_ins = []
            return params
        return [stand_in.tensor for stand_in in self.stand_ins]

    def _require_whole(self, interface: RuleInterface, params: list[torch.Tensor]) -> None:
        if any(map(is_sharded, params)):
            raise WholeParametersError(self.rule.name, interface.by_group, params)

    @property
    def is_direct(self) -> bool:
        """See `Bucket`."""
        return not self.stand_ins

    @torch.no_grad()
    def prepare(self, states: States) -> bool:
        """See `SteppedPart`."""
        if any(stand_in.has_moved() for stand_in in self.stand_ins):
            return False
        self.taken = []
        try:
            for stand_in in self.stand_ins:
                grad = stand_in.gradient()
                if grad is not None:
                    if self.writes:
                        stand_in.require_writable()
                    self.taken.append(stand_in)
                    stand_in.tensor.grad = grad
            return super().prepare(states)
        finally:
            for stand_in in self.taken:
                stand_in.tensor.grad = None

    @torch.no_grad()
    def apply(self, states: States) -> None:
        """See `SteppedPart`."""
        written = self.taken if self.writes else []
        for stand_in in written:
            stand_in.load()
        super().apply(states)
        for stand_in in written:
            stand_in.store()
