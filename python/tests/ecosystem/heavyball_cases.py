"""Optimizers of heavyball, with the rules and the settings that they are compared with.

In SAME, the package has the formula of the rule; in OTHER, it has another one.
"""

from .reference_case import DECAY, EPS, F32, LR, MATRICES, OUR_B, OUR_SLOW, SLOW, B, both

FULL_RANK = [(5, 5), (6,)]  # the first gradient determines the eigenvectors
FLAT_SOAP = {"merge_dims": False, "use_precond_schedule": False, "shampoo_beta": 0.9}


def compared(name, their_options, *arguments, **rest):
    eager = {"storage_dtype": "float64", "compile_step": False}
    return both(f"heavyball.{name}", their_options | eager, *arguments, **rest)


SAME = [
    compared("AdamC", B, "adamc", OUR_B, DECAY | EPS | {"max_lr": 0.05}),
    compared("AdamW", B, "adamw", OUR_B, DECAY | EPS),
    compared("AdEMAMix", SLOW, "ademamix", OUR_SLOW, DECAY | EPS | {"alpha": 2.0}),
    compared(
        "AdEMAMix",
        SLOW,
        "ademamix",
        OUR_SLOW,
        LR | EPS | {"alpha": 2.0, "alpha_warmup": 8, "beta3_warmup": 8},
        reason="The package adds 1e-8 to betas in the warmup.",
        tolerance=1e-7,
    ),
    compared("LaProp", B, "laprop", OUR_B, LR | EPS, lr_drops=False),
    *(
        compared(
            "Muon",
            {"betas": (0.9, 0.99), "heavyball_momentum": accumulation == "sum"},
            "muon",
            {"momentum": 0.9, "accumulation": accumulation, "ns_set": "quintic"},
            DECAY | {"nesterov": nesterov},
            shapes=MATRICES,
        )
        for accumulation, nesterov in [("sum", True), ("sum", False), ("average", False)]
    ),
    compared(
        "NAdam",
        B,
        "nadam",
        OUR_B,
        DECAY | EPS | {"decoupled_weight_decay": True},
        reason="The rule stores mu_product in f32, as torch does by default.",
        tolerance=F32,
    ),
    compared("SGD", {"beta": 0.9}, "sgd", {"momentum": 0.9}, LR),
    compared(
        "SFAdamW",
        {"betas": (0.8, 0.0)},
        "schedule_free_adamw",
        {"beta1": 0.8, "beta2": 0.0},
        LR | EPS,
        lr_drops=False,
    ),
    compared(
        "SOAP",
        B | FLAT_SOAP,
        "soap",
        OUR_B,
        LR | EPS | {"weight_decay": 0.0, "precondition_frequency": 20},
        shapes=FULL_RANK,
    ),
    compared(
        "SOAP",
        B | FLAT_SOAP,
        "soap",
        OUR_B,
        LR | EPS | {"weight_decay": 0.0, "precondition_frequency": 1},
        reason="The package adds a small multiple of the basis before it factorizes.",
        tolerance=1e-8,
        shapes=FULL_RANK,
    ),
]

OTHER = [
    compared(
        "AdamW",
        B,
        "adamw",
        OUR_B,
        LR | {"eps": 0.5},
        reason="eps is a lower bound of the root, and is not added to it. The package's other"
        " optimizers with second moments do the same.",
    ),
    compared(
        "ADOPT",
        B,
        "adopt",
        OUR_B | {"clipped": False, "decoupled_weight_decay": True},
        DECAY | EPS,
        reason="Both averages are corrected for their bias, and there is no limit.",
    ),
    compared(
        "KLShampoo",
        B | FLAT_SOAP,
        "kl_shampoo",
        OUR_B,
        LR | EPS | {"weight_decay": 0.0, "precondition_frequency": 1},
        reason="Eigenvalues come from the factors, not from averages of their own, and the factors"
        " are balanced at each step.",
    ),
    compared(
        "LaProp",
        B,
        "laprop",
        OUR_B,
        LR | EPS,
        reason="The learning rate is not in the average but multiplies it.",
    ),
    compared(
        "Muon",
        {"betas": (0.9, 0.99)},
        "muon",
        {"momentum": 0.9, "ns_set": "quintic"},
        DECAY | {"nesterov": True},
        reason="Nesterov momentum without `heavyball_momentum` is the sum of the gradient and its"
        " average.",
        shapes=MATRICES,
    ),
    compared(
        "NAdam",
        B,
        "nadam",
        OUR_B,
        DECAY | EPS,
        reason="Coupled decay is added to the gradient, and lr weight_decay p to the parameter.",
    ),
    compared(
        "PSGDPRO",
        {"q_dtype": "float64", "weight_decay": 0.0},
        "psgd_pro",
        {"weight_decay": 0.0},
        LR,
        reason="The Procrustes step is at most 1/2, not 1/8. Its bounds of norms and its random"
        " numbers are different.",
    ),
    compared(
        "RMSprop",
        {"betas": (0.0, 0.9)},
        "rmsprop",
        {"alpha": 0.9},
        LR | EPS,
        reason="The second moment is corrected for its bias.",
    ),
    compared(
        "SFAdamW",
        B,
        "schedule_free_adamw",
        OUR_B,
        LR | EPS,
        reason="As `ScheduleFreeAdamW` of pytorch-optimizer.",
        lr_drops=False,
    ),
    compared(
        "Scion",
        {"betas": (0.9, 0.99)},
        "scion",
        {"momentum": 0.1, "unconstrained": True},
        LR,
        reason="The first step draws new parameters.",
    ),
    compared(
        "SOAP",
        B | FLAT_SOAP,
        "soap",
        OUR_B,
        LR | EPS | {"weight_decay": 1.0, "precondition_frequency": 20},
        reason="Weight decay is applied before the step, not after it.",
        shapes=FULL_RANK,
    ),
    compared(
        "SOAP",
        B | FLAT_SOAP,
        "soap",
        OUR_B,
        LR | EPS | {"weight_decay": 0.0, "precondition_frequency": 3},
        reason="Bases are refreshed at other steps, at the same rate.",
        shapes=[(5, 5)],
    ),
]
