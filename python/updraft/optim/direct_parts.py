"""Steps all parts of an optimizer in one call."""

from typing import Optional

import torch

from .adapter import MOVED, REFUSED, JointStep
from .assigned_states import States
from .buckets import Bucket
from .stepped_part import SteppedPart


class DirectParts:
    """All parts of a step, each of which only calls its stepper.

    Attributes:
        take_step: steps all parts, or none if one refuses; returns an outcome for `finish`.
        readers: the parts that read `found_inf` on their device.
    """

    def __init__(self, parts: list[Bucket]) -> None:
        self.readers = [part for part in parts if part.reads_on_device]
        self._parts = parts
        self._step = JointStep([part.stepper for part in parts])
        self.take_step = self._step.take

    @staticmethod
    def of(parts: list[SteppedPart]) -> Optional["DirectParts"]:
        """Combines parts. Returns None if one doesn't only call its stepper."""
        direct = [part for part in parts if isinstance(part, Bucket) and part.is_direct]
        return DirectParts(direct) if len(direct) == len(parts) else None

    def skip_where(self, found_inf: torch.Tensor | None) -> None:
        """See `SteppedPart`."""
        for part in self.readers:
            part.skip_where(found_inf)

    def finish(self, outcome: int, states: States) -> bool:
        """Completes a step whose outcome isn't 0. Returns False if nothing was done, because a
        tensor's memory, layout or type has changed.
        """
        if outcome == MOVED:
            return False
        self.expect(states)
        if outcome == REFUSED:
            self._step.raise_refusal()
        return True

    def expect(self, states: States) -> None:
        """Enters states that steps have created, now or on first access."""
        states.expect(*self._parts)
