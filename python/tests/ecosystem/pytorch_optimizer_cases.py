"""Optimizers of pytorch-optimizer, with the rules and the settings that they are compared with.

In SAME, the package has the formula of the rule; in OTHER, it has another one. Small constants of
the package, such as 1e-15 below a root, do not reach the tolerance.
"""

from .reference_case import (
    B3,
    DECAY,
    EPS,
    F32,
    LR,
    MATRICES,
    OUR_B,
    OUR_B3,
    OUR_SLOW,
    SLOW,
    B,
    both,
)

NOT_WIDE = [(5, 5), (7, 3)]
VECTOR = [(6,)]


def compared(name, *arguments, **rest):
    return both(f"pytorch_optimizer.{name}", *arguments, **rest)


def at_step_before(step):
    return (step - 1) ** 0.25


COUPLED = {"weight_decouple": False}
DECOUPLED = {"weight_decouple": True}
FTRL = {"lr": 0.5, "beta": 1.0}
THEIR_FTRL = {"lambda_1": 0.3, "lambda_2": 0.2}
OUR_FTRL = {"l1": 0.3, "l2": 0.1, "initial_accumulator_value": 0.0}
LARS = {"lr": 0.5, "momentum": 0.9, "trust_coefficient": 0.1, "weight_decay": 0.1}
FREE = {"lr": 0.5, "weight_decay": 0.1, "momentum": 0.8, "warmup_steps": 4}
FREE_ADAMW = DECAY | EPS | {"warmup_steps": 4}
PRODIGY = {"lr": 1.0, "d0": 1e-2, "weight_decay": 0.1}
QHADAM = DECAY | {"eps": 1e-8}
THEIR_QHADAM, OUR_QHADAM = B | {"nus": (0.7, 0.8)}, OUR_B | {"nu1": 0.7, "nu2": 0.8}
QHM = DECAY | {"momentum": 0.9, "nu": 0.7}
SCION = {"lr": 0.05, "momentum": 0.1, "scale": 3.0}
CONSTRAINED = {"constraint": True}
LMO = {"spectral": 2, "sign": 4, "bias": 5, "column": 6, "row": 7}  # pytorch_optimizer's LMONorm
MUON = {"shapes": MATRICES, "keys": {"use_muon": True}}
THEIR_NORMUON, OUR_NORMUON = (
    {"momentum": 0.9, "beta2": 0.8, "eps": 1e-14},
    {"mu": 0.9, "muon_beta2": 0.8, "epsilon": 1e-14, "ns_set": "simple"},
)
THEIR_ADAMUON = {"betas": (0.9, 0.9), "eps": 1e-14}
OUR_ADAMUON = {"momentum": 0.9, "eps": 1e-14, "nesterov": False, "sign_stabilized": False}
SOAP = DECAY | {"eps": 1e-14}
SHAMPOO = {"beta1": 0.0, "epsilon": 1e-3, "grafting": "none"}

IN_F32 = "The package stores a part of its state in f32."

SAME = [
    compared("AdaBelief", B, "adabelief", OUR_B, DECAY | {"eps": 1e-6}),
    compared(
        "AdaBelief",
        B | {"ams_bound": True},
        "adabelief",
        OUR_B | {"amsgrad": True},
        DECAY | {"eps": 1e-6},
    ),
    compared("AdamC", B, "adamc", OUR_B | {"normalized": False}, DECAY | EPS),
    compared("AdamC", B, "adamc", OUR_B | {"max_lr": 0.05}, DECAY | EPS, keys={"normalized": True}),
    *(
        compared(
            "AdaFactor",
            {"betas": (None, 0.9), "lr": lr, "relative_step": relative},
            "adafactor",
            {"lr": lr},
            {"weight_decay": 0.0},
            lr_drops=False,
        )
        for lr, relative in [(0.1, False), (0.01, True)]
    ),
    compared(
        "AdamMini",
        B,
        "adam_mini",
        OUR_B | {"block": "tensor"},
        DECAY,
        reason=IN_F32,
        tolerance=F32,
    ),
    compared(
        "AdaMuon",
        THEIR_ADAMUON,
        "adamuon",
        OUR_ADAMUON,
        DECAY,
        **MUON,
    ),
    compared("Adan", B3 | COUPLED, "adan", OUR_B3, DECAY),
    compared("Adan", B3 | DECOUPLED, "adan", OUR_B3 | {"no_prox": True}, DECAY),
    compared("AdEMAMix", SLOW, "ademamix", OUR_SLOW, LR | {"alpha": 2.0}),
    compared(
        "AdEMAMix",
        SLOW | {"t_alpha_beta3": 8},
        "ademamix",
        OUR_SLOW | {"alpha_warmup": 8, "beta3_warmup": 8},
        LR | {"alpha": 2.0},
    ),
    compared("AdEMAMix", SLOW | DECOUPLED, "ademamix", OUR_SLOW, DECAY | {"alpha": 2.0}),
    compared("ADOPT", B | {"clip_lambda": at_step_before}, "adopt", OUR_B, DECAY),
    compared(
        "ADOPT",
        B | {"clip_lambda": None},
        "adopt",
        OUR_B | {"clipped": False},
        LR,
    ),
    compared("CAME", SLOW, "came", OUR_SLOW, DECAY | {"clip_threshold": 0.7}),
    compared("FTRL", THEIR_FTRL, "ftrl", OUR_FTRL, FTRL),
    compared("Grams", B, "grams", OUR_B, DECAY | EPS),
    compared("Lamb", B | {"adam_debias": True, "pre_norm": False}, "lamb", OUR_B, LR | EPS),
    compared(
        "LaProp",
        B | {"fixed_decay": True, "foreach": False},
        "laprop",
        OUR_B,
        DECAY | EPS,
    ),
    compared(
        "LaProp",
        B | {"ams_bound": True, "foreach": False},
        "laprop",
        OUR_B | {"amsgrad": True},
        LR | EPS,
    ),
    compared("LARS", {}, "lars", {}, LARS, shapes=MATRICES, lr_drops=False),
    compared("Lion", B, "lion", OUR_B, DECAY),
    compared("MARS", B | {"optimize_1d": True}, "mars", OUR_B, DECAY | EPS | {"gamma": 0.1}),
    compared("Muon", {}, "muon", {}, DECAY | {"momentum": 0.9}, **MUON),
    compared(
        "Muon",
        {"use_adjusted_lr": True},
        "muon",
        {"adjust_lr_fn": "match_rms_adamw"},
        DECAY | {"momentum": 0.9, "nesterov": False, "ns_steps": 3},
        **MUON,
    ),
    compared(
        "MuonClip",
        {},
        "muonclip",
        {"accumulation": "sum", "nesterov": False, "adjust_lr_fn": "match_rms_adamw"},
        DECAY | {"momentum": 0.9},
        **MUON,
    ),
    compared(
        "NorMuon",
        THEIR_NORMUON | {"use_adjusted_lr": True},
        "normuon",
        OUR_NORMUON | {"adjust_lr": "rms_norm"},
        DECAY | {"nesterov": True},
        **MUON,
    ),
    compared(
        "NorMuon",
        THEIR_NORMUON,
        "normuon",
        OUR_NORMUON,
        DECAY | {"nesterov": False},
        **(MUON | {"shapes": NOT_WIDE}),
    ),
    compared("NovoGrad", B, "novograd", OUR_B, DECAY),
    compared("Prodigy", B, "prodigy", OUR_B | {"beta3": 0.9**0.5}, PRODIGY),
    compared(
        "Prodigy",
        B,
        "prodigy",
        OUR_B,
        PRODIGY | {"growth_rate": 1.2, "d_coef": 0.5, "beta3": 0.7},
    ),
    compared(
        "QHAdam",
        THEIR_QHADAM | COUPLED,
        "qhadam",
        OUR_QHADAM,
        QHADAM,
        reason=IN_F32,
        tolerance=F32,
    ),
    compared(
        "QHAdam",
        THEIR_QHADAM | DECOUPLED,
        "qhadam",
        OUR_QHADAM | {"decoupled_weight_decay": True},
        QHADAM,
        reason=IN_F32,
        tolerance=F32,
    ),
    compared("QHM", COUPLED, "qhm", {}, QHM),
    compared("QHM", DECOUPLED, "qhm", {"weight_decay_type": "direct"}, QHM),
    compared("ScheduleFreeSGD", {}, "schedule_free_sgd", {}, FREE, lr_drops=False),
    # Without an average of squares, there is no bias to correct.
    compared(
        "ScheduleFreeAdamW",
        {"betas": (0.8, 0.0)},
        "schedule_free_adamw",
        {"beta1": 0.8, "beta2": 0.0},
        FREE_ADAMW,
        lr_drops=False,
    ),
    compared("SCION", CONSTRAINED, "scion", {}, SCION),
    compared("SCION", {}, "scion", {"unconstrained": True}, SCION),
    *(
        compared(
            "SCION",
            CONSTRAINED | {"norm_type": LMO[norm], "norm_kwargs": theirs},
            "scion",
            ours,
            SCION,
            shapes=VECTOR if norm == "bias" else MATRICES,
        )
        for norm, theirs, ours in [
            ("spectral", {"max_scale": True}, {"norm": "Spectral", "clamped": True}),
            ("spectral", {"normalize": False}, {"norm": "Spectral", "normalized": False}),
            ("sign", {}, {"norm": "Sign"}),
            ("sign", {"normalize": False}, {"norm": "Sign", "normalized": False}),
            ("column", {}, {"norm": "ColNorm"}),
            (
                "column",
                {"normalized": True, "transpose": True},
                {"norm": "ColNorm", "normalized": True, "transposed": True},
            ),
            ("row", {}, {"norm": "RowNorm"}),
            (
                "row",
                {"normalized": False, "transpose": True},
                {"norm": "RowNorm", "normalized": False, "transposed": True},
            ),
            ("bias", {}, {"norm": "BiasRMS"}),
        ]
    ),
    compared("Shampoo", {"matrix_eps": 1e-3}, "shampoo", SHAMPOO, LR, shapes=MATRICES),
    compared("SignSGD", {}, "signum", {}, DECAY | {"momentum": 0.8}),
    compared("SOAP", B, "soap", OUR_B, SOAP | {"precondition_frequency": 20}),
    compared(
        "SOAP",
        B | {"normalize_gradient": True},
        "soap",
        OUR_B | {"normalize_grads": True},
        SOAP | {"precondition_frequency": 20, "correct_bias": False, "shampoo_beta": 0.7},
    ),
    compared(
        "SOAP",
        B,
        "soap",
        OUR_B,
        SOAP | {"precondition_frequency": 3},
        reason="The package factorizes in f32.",
        tolerance=10 * F32,
    ),
    # clip(m / h, p) is p clip(m / (p h), 1).
    compared(
        "SophiaH",
        {"lr": 0.5, "p": 0.1, "betas": (0.8, 0.9), "weight_decay": 0.1},
        "sophia",
        {"lr": 0.05, "gamma": 0.1, "beta1": 0.8, "weight_decay": 1.0},
    ),
    compared("StableAdamW", B, "stable_adamw", OUR_B, DECAY | {"eps": 1e-6}),
    compared(
        "Yogi",
        B | COUPLED | {"initial_accumulator": 0.0},
        "yogi",
        OUR_B | {"initial_accumulator_value": 0.0},
        DECAY | {"eps": 1e-3},
    ),
]

OTHER = [
    compared(
        "AdaMuon",
        {"betas": (0.9, 0.9)},
        "adamuon",
        {"momentum": 0.9, "weight_decay": 0.0},
        LR,
        reason="As in the authors' first code, the average itself is orthogonalized, not its signs,"
        " and there is no Nesterov momentum.",
        **MUON,
    ),
    compared(
        "ADOPT",
        B,
        "adopt",
        OUR_B,
        DECAY,
        reason="The limit of step t is t^(1/4), not (t - 1)^(1/4). `clip_lambda` can change it.",
    ),
    compared(
        "ADOPT",
        B | DECOUPLED | {"clip_lambda": None},
        "adopt",
        OUR_B | {"clipped": False, "decoupled_weight_decay": True},
        {"lr": 0.05, "weight_decay": 0.5},
        reason="Decoupled decay also changes the parameter in the first step.",
    ),
    compared(
        "FTRL",
        THEIR_FTRL | {"lr_power": -0.7},
        "ftrl",
        OUR_FTRL | {"lr_power": -0.7},
        FTRL,
        reason="The divisor has the square root of n for every `lr_power`.",
    ),
    compared(
        "FTRL",
        {"lambda_2": 1.0},
        "ftrl",
        {"l2": 1.0, "initial_accumulator_value": 0.0},
        FTRL,
        reason="`lambda_2` is the paper's, twice the rule's `l2`.",
    ),
    compared(
        "Grams",
        B,
        "grams",
        OUR_B,
        LR | {"eps": 0.1},
        reason="eps is added after the bias correction, not before it.",
    ),
    compared(
        "Lamb",
        B | {"pre_norm": False},
        "lamb",
        OUR_B,
        LR | EPS,
        reason="The correction of the first moment multiplies the step after the ratio of norms."
        " `adam_debias` turns it off.",
    ),
    compared(
        "Lamb",
        B | {"pre_norm": False, "adam_debias": True},
        "lamb",
        OUR_B,
        DECAY | EPS,
        reason="Weight decay multiplies the parameter, as in AdamW. With `weight_decouple=False`,"
        " it is added to moments that are not corrected for their bias.",
    ),
    compared(
        "LARS",
        {},
        "lars",
        {},
        LARS,
        reason="The learning rate is not in the buffer but multiplies it.",
        shapes=MATRICES,
    ),
    compared(
        "LARS",
        {},
        "lars",
        {},
        LARS,
        reason="Vectors have neither the ratio of norms nor weight decay.",
        shapes=VECTOR,
        lr_drops=False,
    ),
    compared(
        "LaProp",
        B,
        "laprop",
        OUR_B,
        DECAY | EPS,
        reason="Without `fixed_decay`, the learning rate multiplies the weight decay.",
    ),
    compared(
        "MARS",
        B,
        "mars",
        OUR_B,
        LR | EPS | {"gamma": 0.1},
        reason="Without `optimize_1d`, vectors have AdamW's step.",
        shapes=VECTOR,
    ),
    compared(
        "MARS",
        B | {"optimize_1d": True},
        "mars",
        OUR_B,
        LR | EPS | {"gamma": 0.1},
        reason="The gradient before the first is 0, so the first step has a correction, too."
        " Clipping hides it where the norm exceeds 1.",
        scale_of_gradients=0.01,
    ),
    compared(
        "NorMuon",
        THEIR_NORMUON,
        "normuon",
        OUR_NORMUON,
        DECAY | {"nesterov": False},
        reason="The ratio of a wide matrix is 1, not sqrt(m / n).",
        **(MUON | {"shapes": [(4, 7)]}),
    ),
    compared(
        "NorMuon",
        THEIR_NORMUON | {"update_scale": "match_rms"},
        "normuon",
        OUR_NORMUON | {"adjust_lr": "rms_norm"},
        DECAY | {"nesterov": True},
        reason="`match_rms` makes the norm exactly 0.2 lr sqrt(m n), as in the paper.",
        **MUON,
    ),
    compared(
        "NovoGrad",
        B | {"grad_averaging": True},
        "novograd",
        OUR_B,
        DECAY,
        reason="`grad_averaging` multiplies gradients by 1 - beta1 after the first step.",
    ),
    compared(
        "Kron",
        {"momentum": 0.9, "weight_decay": 0.0},
        "psgd_pro",
        {"momentum": 0.9, "weight_decay": 0.0},
        LR,
        reason="Factors are triangular, and fitted by solving with random vectors (PSGD-Kron).",
    ),
    compared(
        "ScheduleFreeSGD",
        {},
        "schedule_free_sgd",
        {},
        FREE,
        reason="The largest learning rate so far gives the average's weights, not the current one,"
        " as in version 1.4.1 of the authors' code.",
    ),
    compared(
        "ScheduleFreeAdamW",
        B,
        "schedule_free_adamw",
        OUR_B,
        FREE_ADAMW,
        reason="The correction of the second moment is not part of the learning rate, so the"
        " average's weights and the decay are without it, as in version 1.4.1 of the authors'"
        " code.",
        lr_drops=False,
    ),
    compared(
        "Shampoo",
        {"matrix_eps": 1e-3},
        "shampoo",
        SHAMPOO,
        LR,
        reason="A vector has a factor of its own, not Adam's step.",
        shapes=VECTOR,
    ),
    compared(
        "Shampoo",
        {"matrix_eps": 1e-3, "momentum": 0.8},
        "shampoo",
        SHAMPOO | {"beta1": 0.8},
        LR,
        reason="Momentum mixes the gradient with the last preconditioned step.",
        shapes=MATRICES,
    ),
    compared(
        "Yogi",
        B | {"initial_accumulator": 0.1},
        "yogi",
        OUR_B | {"initial_accumulator_value": 0.1},
        LR | {"eps": 1e-3},
        reason="Both moments start from the initial value, not the second alone.",
    ),
]
