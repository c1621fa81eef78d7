"""`torch.optim.Muon`: compiled element-wise sweeps, and torch's matrix products."""

import dataclasses
import functools
from typing import Any

import torch

from ..definition import FileDefinition
from ..shipped import part_path
from ..torch_private import adjusted_lr, orthogonalized
from .correspondence import Correspondence, Group, flags, same_names
from .split import SplitStep


@functools.lru_cache
def _require_orthogonalization(coefficients: tuple[Any, ...], steps: Any, eps: Any) -> None:
    """Refuses the values that torch refuses."""
    orthogonalized(torch.zeros(1, 1), coefficients, steps, eps)


class Muon(SplitStep, torch.optim.Muon):
    """`torch.optim.Muon`, compiled from `rules/parts/muon.upd` except for the orthogonalization."""

    correspondence = Correspondence(
        rule=FileDefinition(part_path("muon"), "MuonMomentum", {}),
        hypers=same_names("momentum"),
        settings=flags("nesterov"),
        states=("momentum_buffer",),
        sparse="Muon does not support sparse gradients",
        complex="Muon does not support complex parameters",
        settled=True,
    )
    update = Correspondence(
        rule=FileDefinition(part_path("muon"), "MuonUpdate", {}),
        hypers=same_names("lr", "weight_decay"),
        settings={},
        states=(),
        sparse=None,
        settled=True,
    )

    def _update_of(self, shape: torch.Size) -> Correspondence:
        def ratio(group: Group, dtype: torch.dtype) -> float:
            factor: float = adjusted_lr(1.0, group["adjust_lr_fn"], shape)
            return factor

        return dataclasses.replace(self.update, hypers={**self.update.hypers, "ratio": ratio})

    @staticmethod
    def _require(group: Group) -> None:
        _require_orthogonalization(tuple(group["ns_coefficients"]), group["ns_steps"], group["eps"])

    @staticmethod
    def _between(direction: torch.Tensor, group: Group) -> torch.Tensor:
        result: torch.Tensor = orthogonalized(
            direction, group["ns_coefficients"], group["ns_steps"], group["eps"]
        )
        return result
