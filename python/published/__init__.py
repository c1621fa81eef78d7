"""Optimizers that PyTorch doesn't have, as published in their papers.

Transcriptions of the published equations, operation by operation. Tests compare Updraft's rules of
the same names with them. They run in any dtype.
"""

from .adam_variants import ADOPT, AdamC, Grams, LaProp, StableAdamW
from .factored import CAME, AdamMini
from .kl_shampoo import KLShampoo
from .layerwise import LAMB, LARS, NovoGrad
from .moments import MARS, AdaBelief, Adan, AdEMAMix, QHAdam, Sophia, Yogi
from .momentum import QHM, Lion, Signum
from .muon import AdaMuon, Dion2, Muon, MuonClip, NorMuon, PolarGrad, Scion
from .prodigy import Prodigy
from .proximal import FTRL
from .psgd_pro import PSGDPro
from .rowwise import RowwiseAdagrad
from .schedule_free import GPAAdamW, ScheduleFreeAdamW, ScheduleFreeSGD
from .shampoo import Shampoo
from .soap import SOAP

# By the name of the rule's file.
OPTIMIZERS = {
    "adabelief": AdaBelief,
    "adam_mini": AdamMini,
    "adamc": AdamC,
    "adamuon": AdaMuon,
    "adan": Adan,
    "ademamix": AdEMAMix,
    "adopt": ADOPT,
    "came": CAME,
    "dion2": Dion2,
    "ftrl": FTRL,
    "gpa_adamw": GPAAdamW,
    "grams": Grams,
    "kl_shampoo": KLShampoo,
    "lamb": LAMB,
    "laprop": LaProp,
    "lars": LARS,
    "lion": Lion,
    "mars": MARS,
    "muon": Muon,
    "muonclip": MuonClip,
    "normuon": NorMuon,
    "novograd": NovoGrad,
    "polargrad": PolarGrad,
    "prodigy": Prodigy,
    "psgd_pro": PSGDPro,
    "qhadam": QHAdam,
    "qhm": QHM,
    "rowwise_adagrad": RowwiseAdagrad,
    "schedule_free_adamw": ScheduleFreeAdamW,
    "schedule_free_sgd": ScheduleFreeSGD,
    "scion": Scion,
    "shampoo": Shampoo,
    "signum": Signum,
    "soap": SOAP,
    "sophia": Sophia,
    "stable_adamw": StableAdamW,
    "yogi": Yogi,
}

__all__ = ["OPTIMIZERS", *(optimizer.__name__ for optimizer in OPTIMIZERS.values())]
