"""A parameter group and the parts that step it."""

from operator import is_
from types import NoneType
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from ..errors import UnsupportedError
from .clipping import GradientNorm
from .correspondence import Group, reader
from .devices import GradientScale, target_of
from .matrix_views import ENTRIES as VIEW_ENTRIES
from .part_choice import PartChoice, steps_by_group
from .stepped_part import SteppedPart

#: All compiled groups depend on these: the number of the states' generation, whether gradients are
#: scaled, whether torch swaps parameters, and the dtype of scalar states.
Circumstances = tuple[int, bool, bool, torch.dtype]


def require_together(buckets: list[SteppedPart]) -> None:
    """Refuses a group in several parts if the rule depends on the whole group."""
    rules = [bucket.rule for bucket in buckets if bucket.rule]
    if len(rules) > 1 and steps_by_group(buckets):
        firsts = [bucket.params[0] for bucket in buckets if bucket.rule]
        one_device = len(set(map(target_of, firsts))) == 1
        kinds = [
            str(first.dtype) if one_device else f"{first.dtype} on {target_of(first) or 'cpu'}"
            for first in firsts
        ]
        # The parts differ only in the types of their states.
        if len(set(kinds)) == len({type(bucket) for bucket in buckets if bucket.rule}) == 1:
            raise UnsupportedError(
                f"the rule `{rules[0].name}` depends on a whole group, but states of a "
                "group differ in type; give all states of a name the same type"
            )
        raise UnsupportedError(
            f"the rule `{rules[0].name}` depends on a whole group, and one has "
            f"parameters that are stepped apart ({', '.join(dict.fromkeys(kinds))}); give each "
            "kind a group of its own, or clip with `updraft.optim.with_clipping`"
        )


# Values of these types are immutable, and a rule treats equal ones alike.
_CONSTANTS = (float, int, str, NoneType)


def is_constant(value: Any) -> bool:
    """Whether a value in a parameter group is immutable, and a rule treats equal values alike."""
    if isinstance(value, tuple):
        return all(map(is_constant, value))
    return isinstance(value, _CONSTANTS)


def _snapshot(value: Any) -> Any:
    """Returns a value that later changes of a list don't change."""
    return tuple(map(_snapshot, value)) if isinstance(value, list) else value


class CompiledGroup:
    """The buckets that step a parameter group, and the group's contents when they were made."""

    def __init__(
        self, optimizer: PartChoice, first: int, group: Group, circumstances: Circumstances
    ) -> None:
        self.first = first
        self.circumstances = circumstances
        self.params = list(group["params"])
        # `==` of lists compares different tensors by value. The result may be true for these
        # parameters; for others it is a RuntimeError.
        self.single = [
            i for i, param in enumerate(self.params) if is_lazy(param) or param.numel() == 1
        ]
        #: The group at the last `take`; None if `==` can't detect every change of its values.
        self.taken: Group | None = None
        correspondences = optimizer._correspondences(group)
        self.read_settings = [
            reader(place)
            for correspondence in correspondences
            for place in correspondence.settings.values()
        ]
        self.sparse_of = correspondences[0].sparse_of
        self.settings = self.current_settings(group)
        self.norm: GradientNorm | None = None
        self.buckets = optimizer._make_buckets(group, enumerate(self.params, first), self.scaled)
        require_together(self.buckets)

    @property
    def scaled(self) -> bool:
        return self.circumstances[1]

    def _has_singles(self, params: list[torch.Tensor]) -> bool:
        """Whether the parameters in `single` are those of `params`, which has the same length."""
        place = self.single
        return all(map(is_, map(self.params.__getitem__, place), map(params.__getitem__, place)))

    def current_settings(self, group: Group) -> list[Any]:
        others = map(group.get, ("seed", "differentiable", "fused", "rule", *VIEW_ENTRIES))
        read = [read(group, None) for read in self.read_settings]
        return [*map(_snapshot, (*read, *others)), self.sparse_of(group)]

    def is_taken(self, first: int, group: Group, circumstances: Circumstances) -> bool:
        """Whether nothing has changed since `take`, the usual case. No other checks are needed."""
        try:
            return (
                self.taken == group
                and self._has_singles(group["params"])
                and self.first == first
                and self.circumstances == circumstances
            )
        except (RuntimeError, ValueError):  # Different tensors or arrays were compared.
            return False

    def take(self, group: Group, factor: float | GradientScale | None) -> None:
        """Remembers the group, after the buckets have accepted its hyperparameters."""
        others = (value for key, value in group.items() if key != "params")
        comparable = factor is None and all(map(is_constant, others))
        self.taken = group | {"params": self.params} if comparable else None

    def matches(self, first: int, group: Group, circumstances: Circumstances) -> bool:
        """Whether the compiled code still fits the group and the states."""
        mine, given = self.params, group["params"]
        if type(given) is not list:
            given = list(given)
        try:
            same = mine == given
        except RuntimeError:  # Different tensors were compared.
            return False
        return (
            same is True
            and self._has_singles(given)
            and self.first == first
            and self.circumstances == circumstances
            and self.settings == self.current_settings(group)
        )
