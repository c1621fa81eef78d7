"""Optimizers in place of those of `torch.optim`, with compiled steps.

Change one import, and everything else stays:

    from updraft.optim import AdamW

    optimizer = AdamW(model.parameters(), lr=1e-3)
"""

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
)

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
]
