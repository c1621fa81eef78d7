"""The optimizers of `torch.optim` with compiled steps. Constructors, defaults, parameter groups and
states are those of torch's classes, which these derive from.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from .correspondence import (
    AS_DENSE,
    BETAS,
    Correspondence,
    Group,
    flags,
    same_names,
)
from .torch_class import TorchClass


def _unsupported(name: str) -> str:
    return f"{name} does not support sparse gradients"


def _raises(dividend: Any, divisor: Any) -> bool:
    """Whether Python raises ZeroDivisionError for a division. Tensors give infinity or NaN."""
    in_tensors = isinstance(dividend, torch.Tensor) or isinstance(divisor, torch.Tensor)
    return not in_tensors and bool(divisor == 0)


def _rate_divided_by_zero(*flags_for_tensors: str) -> Callable[[Group], bool]:
    """For a step that divides the learning rate by one minus a power of the first beta. With one of
    the flags, the step divides tensors instead.
    """

    def divides(group: Group) -> bool:
        in_tensors = any(map(group.get, flags_for_tensors))
        return not in_tensors and _raises(group["lr"], 1 - group["betas"][0])

    return divides


_rate_divided_in_adam = _rate_divided_by_zero("capturable", "differentiable", "fused")


def _has_momentum(group: Group, dtype: torch.dtype | None = None) -> bool:
    return bool(group["momentum"] != 0)


def _sparse_in_sgd(group: Group) -> str | None:
    if group["weight_decay"] != 0:
        return "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
    # The momentum buffer changes in every row.
    return AS_DENSE if group["momentum"] != 0 else None


def _sparse_in_adagrad(group: Group) -> str | None:
    if group["weight_decay"] != 0:
        return "weight_decay option is not compatible with sparse gradients"
    return None


class SGD(TorchClass, torch.optim.SGD):
    """`torch.optim.SGD`, compiled from `rules/sgd.upd`."""

    correspondence = Correspondence(
        rule="SGD",
        hypers=same_names("lr", "momentum", "dampening", "weight_decay"),
        settings={
            **flags("maximize"),
            # Whether a buffer exists. Each step passes the momentum itself.
            "buffered": _has_momentum,
            # Without momentum, torch ignores this flag, but the rule would refuse it.
            "nesterov": lambda group, dtype: bool(group["nesterov"]) and _has_momentum(group),
            "momentum": lambda group, dtype: float(_has_momentum(group)),
        },
        states=("momentum_buffer",),
        sparse=_sparse_in_sgd,
    )


class Adam(TorchClass, torch.optim.Adam):
    """`torch.optim.Adam`, compiled from `rules/adam.upd`."""

    correspondence = Correspondence(
        rule="Adam",
        hypers={"lr": "lr", **BETAS, **same_names("eps", "weight_decay")},
        settings=flags("amsgrad", "maximize", "decoupled_weight_decay"),
        states=("step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
        sparse="Adam does not support sparse gradients, please consider SparseAdam instead",
        divides_by_zero=_rate_divided_in_adam,
    )


class AdamW(TorchClass, torch.optim.AdamW):
    """`torch.optim.AdamW`, compiled from `rules/adamw.upd`."""

    correspondence = Correspondence(
        rule="AdamW",
        hypers={"lr": "lr", **BETAS, **same_names("eps", "weight_decay")},
        settings=flags("amsgrad", "maximize"),
        states=("step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"),
        sparse="Adam does not support sparse gradients, please consider SparseAdam instead",
        divides_by_zero=_rate_divided_in_adam,
    )


class NAdam(TorchClass, torch.optim.NAdam):
    """`torch.optim.NAdam`, compiled from `rules/nadam.upd`."""

    correspondence = Correspondence(
        rule="NAdam",
        hypers={"lr": "lr", **BETAS, **same_names("eps", "weight_decay", "momentum_decay")},
        settings=flags("maximize", "decoupled_weight_decay"),
        states=("step", "mu_product", "exp_avg", "exp_avg_sq"),
        scalars=("mu_product",),
        sparse=_unsupported("NAdam"),
    )


class RAdam(TorchClass, torch.optim.RAdam):
    """`torch.optim.RAdam`, compiled from `rules/radam.upd`."""

    correspondence = Correspondence(
        rule="RAdam",
        hypers={"lr": "lr", **BETAS, **same_names("eps", "weight_decay")},
        settings=flags("maximize", "decoupled_weight_decay"),
        states=("step", "exp_avg", "exp_avg_sq"),
        sparse=_unsupported("RAdam"),
        divides_by_zero=lambda group: _raises(2, 1 - group["betas"][1]),
    )


class Adamax(TorchClass, torch.optim.Adamax):
    """`torch.optim.Adamax`, compiled from `rules/adamax.upd`."""

    correspondence = Correspondence(
        rule="Adamax",
        hypers={"lr": "lr", **BETAS, **same_names("eps", "weight_decay")},
        settings=flags("maximize"),
        states=("step", "exp_avg", "exp_inf"),
        sparse=_unsupported("Adamax"),
        divides_by_zero=_rate_divided_by_zero("capturable"),
    )


class Adagrad(TorchClass, torch.optim.Adagrad):
    """`torch.optim.Adagrad`, compiled from `rules/adagrad.upd`."""

    correspondence = Correspondence(
        rule="Adagrad",
        hypers=same_names("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps"),
        settings=flags("maximize"),
        states=("step", "sum"),
        sparse=_sparse_in_adagrad,
    )


class Adadelta(TorchClass, torch.optim.Adadelta):
    """`torch.optim.Adadelta`, compiled from `rules/adadelta.upd`."""

    correspondence = Correspondence(
        rule="Adadelta",
        hypers=same_names("lr", "rho", "eps", "weight_decay"),
        settings=flags("maximize"),
        states=("step", "square_avg", "acc_delta"),
        sparse=_unsupported("Adadelta"),
    )


class RMSprop(TorchClass, torch.optim.RMSprop):
    """`torch.optim.RMSprop`, compiled from `rules/rmsprop.upd`."""

    correspondence = Correspondence(
        rule="RMSprop",
        hypers=same_names("lr", "alpha", "eps", "weight_decay", "momentum"),
        settings={
            **flags("centered", "maximize"),
            "buffered": lambda group, dtype: bool(group["momentum"] > 0),
        },
        states=("step", "square_avg", "momentum_buffer", "grad_avg"),
        sparse=_unsupported("RMSprop"),
    )


class Rprop(TorchClass, torch.optim.Rprop):
    """`torch.optim.Rprop`, compiled from `rules/rprop.upd`."""

    correspondence = Correspondence(
        rule="Rprop",
        hypers={
            "lr": "lr",
            "etaminus": ("etas", 0, 2),
            "etaplus": ("etas", 1, 2),
            "step_size_min": ("step_sizes", 0, 2),
            "step_size_max": ("step_sizes", 1, 2),
        },
        settings=flags("maximize"),
        states=("step", "prev", "step_size"),
        sparse=_unsupported("Rprop"),
    )


class ASGD(TorchClass, torch.optim.ASGD):
    """`torch.optim.ASGD`, compiled from `rules/asgd.upd`."""

    correspondence = Correspondence(
        rule="ASGD",
        hypers=same_names("lr", "lambd", "alpha", "t0", "weight_decay"),
        settings=flags("maximize"),
        states=("step", "eta", "mu", "ax"),
        scalars=("eta", "mu"),
        sparse=_unsupported("ASGD"),
    )


def _first_epsilon(group: Group, dtype: torch.dtype) -> Any:
    epsilon = group["eps"][0]
    return torch.finfo(dtype).eps if epsilon is None else epsilon


class Adafactor(TorchClass, torch.optim.Adafactor):
    """`torch.optim.Adafactor`, compiled from `rules/adafactor.upd`."""

    correspondence = Correspondence(
        rule="Adafactor",
        hypers={
            **same_names("lr", "beta2_decay"),
            "eps1": _first_epsilon,
            "eps2": ("eps", 1, 2),
            **same_names("d", "weight_decay"),
        },
        settings=flags("maximize"),
        states=("step", "row_var", "col_var", "variance"),
        sparse=_unsupported("Adafactor"),
        complex="Adafactor does not support complex parameters",
        divides_by_zero=lambda group: _raises(1, group["d"]),
    )


class SparseAdam(TorchClass, torch.optim.SparseAdam):
    """`torch.optim.SparseAdam`, compiled from `rules/sparse_adam.upd`."""

    correspondence = Correspondence(
        rule="SparseAdam",
        hypers={"lr": "lr", **BETAS, "eps": "eps"},
        # Older files don't have it.
        settings={"maximize": lambda group, dtype: bool(group.get("maximize", False))},
        states=("step", "exp_avg", "exp_avg_sq"),
        sparse=None,
        dense="SparseAdam does not support dense gradients, please consider Adam instead",
        complex="SparseAdam does not support complex parameters",
    )

    def packed_state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the states in torch's form, with an integer as the step count."""
        packed = super().packed_state(state)
        return packed | ({"step": int(packed["step"])} if "step" in packed else {})
