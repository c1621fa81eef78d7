"""Parts of a step that take one call together."""

from typing import Optional

import torch

from .adapter import JointStep
from .assigned_states import States
from .buckets import FRESH, MOVED, Bucket
from .stepped_part import SteppedPart


class DirectParts:
    """Parts whose steps are nothing but calls of their steppers."""

    def __init__(self, parts: list[Bucket]) -> None:
        self.parts = parts
        self.readers = [part for part in parts if part.reads_on_device]
        self.take_step = JointStep([part.stepper for part in parts]).step

    @staticmethod
    def of(parts: list[SteppedPart]) -> Optional["DirectParts"]:
        """Returns what steps these, unless one of them is something else."""
        direct = [part for part in parts if isinstance(part, Bucket) and part.is_direct]
        return DirectParts(direct) if len(direct) == len(parts) > 1 else None

    def step(self, states: States, found_inf: torch.Tensor | None) -> bool:
        """Steps all or, where one refuses, none; False as of one part."""
        for part in self.readers:
            part.skip_where(found_inf)
        outcome = self.take_step()
        if outcome == FRESH:
            for part in self.parts:
                states.expect(part)
        return outcome != MOVED
