"""Optimizers that PyTorch has not, as their papers write them.

Transcriptions of the published equations, an operation as plain as it is there: what Updraft's
rules of the same names are compared with. They run in any dtype.
"""

from .moments import MARS, AdaBelief, Adan, AdEMAMix, QHAdam, Sophia, Yogi
from .momentum import QHM, Lion, Signum

# By the name of the rule's file.
OPTIMIZERS = {
    optimizer.__name__.lower(): optimizer
    for optimizer in (AdaBelief, Adan, AdEMAMix, Lion, MARS, QHAdam, QHM, Signum, Sophia, Yogi)
}

__all__ = ["OPTIMIZERS", *(optimizer.__name__ for optimizer in OPTIMIZERS.values())]
