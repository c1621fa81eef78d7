"""`torch.optim.Muon`: compiled, with torch's matrix products or those of the rule."""

import dataclasses
import functools
import json
from typing import Any

import torch
from torch.optim.optimizer import ParamsT

from .. import _updraft
from ..definition import FileDefinition
from ..shipped import part_path
from ..torch_private import adjusted_lr, orthogonalized
from .correspondence import Choices, Correspondence, Group, flags, same_names
from .split import SplitStep


@functools.lru_cache
def _require_orthogonalization(coefficients: tuple[Any, ...], steps: Any, eps: Any) -> None:
    """Refuses the values that torch refuses."""
    orthogonalized(torch.zeros(1, 1), coefficients, steps, eps)


def _scaling(group: Group, dtype: torch.dtype) -> str:
    """The rule's name for `adjust_lr_fn`; torch takes 1 for names that it doesn't know."""
    chosen = group["adjust_lr_fn"] or "original"
    known = ("original", "match_rms_adamw", "spectral_unclamped")
    return chosen if chosen in known else "none"


@functools.cache
def _cpu_multiplies_bf16() -> bool:
    """Whether the compiler uses the CPU's instructions for bf16: x86's or AArch64's."""
    return bool(json.loads(_updraft.environment())["target"]["multiplies_bf16"])


def _products(group: Group, dtype: torch.dtype) -> str:
    """The products of a group: bf16 where these take less time than the Gram form in f32."""
    params = group["params"]
    # In f64 nothing is rounded.
    if not params or params[0].dtype == torch.float64:
        return "full"
    return "bf16" if any(param.is_cuda for param in params) or _cpu_multiplies_bf16() else "full"


class _MuonOfAnyShape(torch.optim.Muon):
    """`torch.optim.Muon`, but the constructor takes parameters of any shape."""

    def __init__(self, params: ParamsT, *args: Any, **kwargs: Any) -> None:
        checked = torch.optim.Muon([torch.empty(0, 0)], *args, **kwargs)
        torch.optim.Optimizer.__init__(self, params, checked.defaults)


class Muon(SplitStep, _MuonOfAnyShape):
    """`torch.optim.Muon`, compiled.

    With `numerics="torch"`, the default, C++ calls torch's products, in bf16. The rest is compiled
    from `rules/parts/muon.upd`. With "ieee" and "fast", the whole step is compiled from
    `rules/muon.upd`. With "ieee", products have the parameter's precision, but at least f32, and
    the same bits on every machine. With "fast", CPUs and GPUs that multiply bf16 round operands.
    A parameter of more than two dimensions is a batch of matrices, which needs "ieee" or "fast".
    """

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

    one_rule = Correspondence(
        rule="Muon",
        hypers=same_names("lr", "weight_decay", "momentum", "eps"),
        settings={
            **flags("nesterov"),
            "ns_set": lambda group, dtype: "custom",
            "ns_steps": "ns_steps",
            "ns_coefficients": lambda group, dtype: [tuple(map(float, group["ns_coefficients"]))],
            "adjust_lr_fn": _scaling,
        },
        states=("momentum_buffer",),
        sparse="Muon does not support sparse gradients",
        complex="Muon does not support complex parameters",
        settled=True,
        tensors="matrices",
    )

    def _require_shapes(self, numerics: str) -> None:
        for param in (param for group in self.param_groups for param in group["params"]):
            if param.dim() < 2 or (param.dim() > 2 and numerics == "torch"):
                raise ValueError(  # torch's words
                    "Muon only supports 2D parameters whereas we found a parameter with size: "
                    f"{param.size()}"
                )

    def _correspond(self, choices: Choices) -> None:
        super()._correspond(choices)
        if choices.numerics == "fast":
            settings = {**self.correspondence.settings, "products": _products}
            self.correspondence = dataclasses.replace(self.correspondence, settings=settings)

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
        result: torch.Tensor = torch.ops.updraft.orthogonalized(
            direction, *group["ns_coefficients"], group["ns_steps"], group["eps"]
        )
        return result
