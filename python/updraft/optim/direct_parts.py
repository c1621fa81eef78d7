"""Parts of a step that take one call together."""

from typing import Optional

import torch

from .adapter import MOVED, REFUSED, JointStep
from .assigned_states import States
from .buckets import Bucket
from .stepped_part import SteppedPart


class DirectParts:
    """All parts of a step, each of which does nothing but call its stepper.

    Attributes:
        take_step: steps all of them or, where one refuses, none; returns an outcome for `finish`.
        readers: the parts that read `found_inf` on their device.
    """

    def __init__(self, parts: list[Bucket]) -> None:
        self.readers = [part for part in parts if part.reads_on_device]
        self._parts = parts
        self._step = JointStep([part.stepper for part in parts])
        self.take_step = self._step.take

    @staticmethod
    def of(parts: list[SteppedPart]) -> Optional["DirectParts"]:
        """Returns what steps these, or None if one of them is something else."""
        direct = [part for part in parts if isinstance(part, Bucket) and part.is_direct]
        return DirectParts(direct) if len(direct) == len(parts) else None

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """See `SteppedPart`."""
        for part in self.readers:
            part.skip_where(found_inf)

    def finish(self, outcome: int, states: States) -> bool:
        """Follows a step whose outcome is not 0; False if nothing was done, because a parameter has
        other memory than before.
        """
        if outcome == MOVED:
            return False
        self.expect(states)
        if outcome == REFUSED:
            self._step.raise_refusal()
        return True

    def expect(self, states: States) -> None:
        """Enters the states that steps have made, if there are any."""
        for part in self._parts:
            states.expect(part)
