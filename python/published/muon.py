"""Muon: momentum whose matrices are made nearly orthogonal."""

import math

import torch

from .base import Published

#: Triples of the iteration for each set, and whether more steps start again after the last.
COEFFICIENTS = {
    "simple": ([(3.4445, -4.7750, 2.0315)], True),
    "quintic": (
        [
            (4.0848, -6.8946, 2.9270),
            (3.9505, -6.3029, 2.6377),
            (3.7418, -5.5913, 2.3037),
            (2.8769, -3.1427, 1.2046),
            (2.8366, -3.0525, 1.2012),
        ],
        True,
    ),
    "cubic": (
        [
            (3.3656576, -3.3420992, 0),
            (2.5744352, -1.4957376, 0),
            (2.5368962, -1.4312570, 0),
            (2.4418906, -1.2764040, 0),
            (2.2230472, -0.9630650, 0),
        ],
        True,
    ),
    "aol": (
        [
            (4.0098, -7.0585, 2.4635),
            (3.4585, -5.5479, 2.5959),
            (2.7573, -3.2939, 1.4254),
            (2.7215, -3.0494, 1.3169),
        ],
        True,
    ),
    "polar_express": (
        [
            (8.156554524902461, -22.48329292557795, 15.878769915207462),
            (4.042929935166739, -2.808917465908714, 0.5000178451051316),
            (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
            (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
            (2.3465413258596377, -1.7097828382687081, 0.42323551169305323),
        ],
        False,
    ),
    "polar_express_8": (
        [
            (8.2051, -22.9019, 16.4607),
            (4.0664, -2.8612, 0.5184),
            (3.9096, -2.8234, 0.5250),
            (3.2856, -2.4153, 0.4853),
            (2.2779, -1.6198, 0.3985),
            (1.8726, -1.2307, 0.3585),
            (1.8564, -1.2132, 0.3568),
            (1.875, -1.25, 0.375),
        ],
        False,
    ),
    "cans": (
        [
            (8.4703, -25.1081, 18.6293),
            (4.1828, -3.1087, 0.5806),
            (3.9619, -2.9541, 0.5630),
            (3.2866, -2.4647, 0.5074),
            (2.2737, -1.6447, 0.4162),
        ],
        False,
    ),
    "deepseek_v4": ([(3.4445, -4.7750, 2.0315)] * 8 + [(2, -1.5, 0.5)] * 2, False),
}


#: The sets that are not meant for five steps.
STEPS = {"aol": 4, "polar_express_8": 8, "deepseek_v4": 10}


def triples(name, steps):
    """Returns the triples of a set, as many as steps."""
    listed, cycles = COEFFICIENTS[name]
    return [listed[i % len(listed) if cycles else min(i, len(listed) - 1)] for i in range(steps)]


class Muon(
    Published,
    lr=1e-3,
    weight_decay=0.1,
    momentum=0.95,
    eps=1e-7,
    nesterov=True,
    ns_set="simple",
    ns_steps=None,
    adjust_lr_fn="original",
    accumulation="average",
    maximize=False,
):
    """Jordan et al. (2024); sums of Liu et al. (arXiv 2502.16982), the feedback of Dion2."""

    def update(self, p, g, state, h, t):
        b = state.get("b", torch.zeros_like(g))
        if h.accumulation == "average":
            b = b + (1 - h.momentum) * (g - b)
            ahead = g + h.momentum * (b - g)
        elif h.accumulation == "sum":
            b = h.momentum * b + g
            ahead = g + h.momentum * b
        else:
            b = b + g
        d = ahead if h.nesterov else b
        state["b"] = h.momentum * b if h.accumulation == "feedback" else b
        rows, columns = (p.shape[-2], p.shape[-1]) if p.dim() >= 2 else (p.numel(), 1)
        ratio = {
            "original": math.sqrt(max(1, rows / columns)),
            "match_rms_adamw": 0.2 * math.sqrt(max(rows, columns)),
            "spectral_unclamped": math.sqrt(rows / columns),
            "none": 1,
        }[h.adjust_lr_fn]
        margin = 1.02 if h.ns_set == "polar_express" else 1
        if p.dim() >= 2:
            x = d / (margin * torch.linalg.matrix_norm(d, keepdim=True)).clamp(min=h.eps)
            if h.ns_set == "aol":
                side = -1 if rows <= columns else -2
                gram = (d @ d.mT if rows <= columns else d.mT @ d).abs()
                x = d / gram.sum(dim=side, keepdim=True).clamp(min=h.eps).sqrt()
            for a, b2, c in triples(h.ns_set, h.ns_steps or STEPS.get(h.ns_set, 5)):
                gram = x @ x.mT
                x = a * x + (b2 * gram + c * gram @ gram) @ x
        else:
            x = d / d.norm().clamp(min=h.eps)
        return p * (1 - h.lr * h.weight_decay) - h.lr * ratio * x
