"""Drop-in replacements for the optimizers of `torch.optim`, with compiled steps.

Change one import, and nothing else:

    from updraft.optim import AdamW

    optimizer = AdamW(model.parameters(), lr=1e-3)

Every other rule of the package has a class too: `Lion`, `LAMB`, … (`updraft.shipped_rules()`).
"""

from typing import TYPE_CHECKING

from .. import torch_presence  # noqa: F401  (before the modules that import torch)

# isort: split
from .conversion import convert
from .for_model import for_model
from .lbfgs import LBFGS
from .muon import Muon
from .torch_classes import (
    ASGD,
    SGD,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
    SparseAdam,
)

if TYPE_CHECKING:
    from .rule_classes import ShippedOptimizer
from .with_clipping import with_clipping

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "convert",
    "for_model",
    "with_clipping",
]


def __getattr__(name: str) -> "type[ShippedOptimizer]":
    from ..shipped import shipped_rules

    if name not in shipped_rules():
        from ..near_names import hint

        near = hint(name, __dir__(), "`dir(updraft.optim)` lists them")
        raise AttributeError(f"unknown optimizer `{name}` in `updraft.optim`; {near}")
    from .rule_classes import shipped_class

    return shipped_class(name)


def __dir__() -> list[str]:
    from ..shipped import shipped_rules

    return sorted({*__all__, *shipped_rules()})
