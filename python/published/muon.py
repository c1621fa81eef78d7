"""Muon and its relatives: momentum whose matrices are made nearly orthogonal."""

import math

import torch

from .base import Published, average

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


def sides(p):
    """Rows and columns; a vector is a matrix of one column."""
    return (p.shape[-2], p.shape[-1]) if p.dim() >= 2 else (p.numel(), 1)


def whole_norm(x):
    """The norm of each matrix, or of a vector."""
    return torch.linalg.matrix_norm(x, keepdim=True) if x.dim() >= 2 else x.norm()


def inner(x, y):
    """The inner product of each pair of matrices, or of vectors."""
    return (x * y).sum(dim=(-2, -1), keepdim=True) if x.dim() >= 2 else (x * y).sum()


def orthogonal(d, name, steps, eps):
    """Newton and Schulz's iteration for each matrix; a vector is divided by its norm."""
    if d.dim() < 2:
        return d / d.norm().clamp(min=eps)
    margin = 1.02 if name == "polar_express" else 1
    x = d / (margin * whole_norm(d)).clamp(min=eps)
    if name == "aol":
        is_wide = d.shape[-2] <= d.shape[-1]
        gram = (d @ d.mT if is_wide else d.mT @ d).abs()
        x = d / gram.sum(dim=-1 if is_wide else -2, keepdim=True).clamp(min=eps).sqrt()
    for a, b, c in triples(name, steps or STEPS.get(name, 5)):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


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
        rows, columns = sides(p)
        ratio = {
            "original": math.sqrt(max(1, rows / columns)),
            "match_rms_adamw": 0.2 * math.sqrt(max(rows, columns)),
            "spectral_unclamped": math.sqrt(rows / columns),
            "none": 1,
        }[h.adjust_lr_fn]
        o = orthogonal(d, h.ns_set, h.ns_steps, h.eps)
        return p * (1 - h.lr * h.weight_decay) - h.lr * ratio * o


class MuonClip(Muon, **Muon.defaults_of_rule, logit_threshold=100.0, clip_exponent=0.5):
    """Kimi K2 (arXiv 2507.20534). The state `max_logits` has the largest logit of each head, whose
    rows follow those of the head before.
    """

    def update(self, p, g, state, h, t):
        p = super().update(p, g, state, h, t)
        logits = state.pop("max_logits", None)
        if logits is not None:
            heads = p.view(len(logits), -1, p.shape[-1])
            for rows, largest in zip(heads, logits, strict=True):
                if largest > h.logit_threshold:
                    rows *= (h.logit_threshold / largest) ** h.clip_exponent
        return p


class NorMuon(
    Published,
    lr=0.01,
    mu=0.95,
    muon_beta2=0.95,
    weight_decay=0.01,
    epsilon=1e-8,
    nesterov=False,
    cautious_wd=False,
    adjust_lr="spectral_norm",
    ns_set="polar_express",
    ns_steps=None,
    maximize=False,
):
    """Li et al. (arXiv 2510.05491), as in Dion: sums, and the ratios of `adjust_lr`."""

    def update(self, p, g, state, h, t):
        b = h.mu * state.get("b", torch.zeros_like(g)) + g
        state["b"] = b
        o = orthogonal(g + h.mu * b if h.nesterov else b, h.ns_set, h.ns_steps, h.epsilon)
        rows, columns = sides(p)
        u = o
        if p.dim() >= 2:
            v = average(state, "v", o.square().mean(dim=-1, keepdim=True), h.muon_beta2)
            u = o / (v.sqrt() + h.epsilon)
            u = u * (whole_norm(o) / whole_norm(u).clamp(min=h.epsilon))
        decayed = p * (1 - h.lr * h.weight_decay)
        kept = torch.where(u * p >= 0, decayed, p) if h.cautious_wd else decayed
        ratio = {
            "spectral_norm": math.sqrt(rows / columns),
            "rms_norm": 0.2 * math.sqrt(max(rows, columns)),
            "none": 1,
        }[h.adjust_lr]
        return kept - h.lr * ratio * u


class AdaMuon(
    Published,
    lr=0.02,
    weight_decay=0.01,
    momentum=0.95,
    eps=1e-8,
    nesterov=True,
    sign_stabilized=True,
    ns_set="simple",
    ns_steps=None,
    maximize=False,
):
    """Si, Zhang and Shen (arXiv 2507.11005), as in their code, with averages of gradients."""

    def update(self, p, g, state, h, t):
        b = average(state, "b", g, h.momentum)
        d = h.momentum * b + (1 - h.momentum) * g if h.nesterov else b
        o = orthogonal(d.sign() if h.sign_stabilized else d, h.ns_set, h.ns_steps, h.eps)
        u = o / (average(state, "v", o.square(), h.momentum).sqrt() + h.eps)
        step = 0.2 * h.lr * math.sqrt(math.prod(sides(p))) * u / (whole_norm(u) + h.eps)
        return p * (1 - h.lr * h.weight_decay) - step


class Dion2(
    Published,
    lr=0.01,
    fraction=0.25,
    ef_decay=0.95,
    weight_decay=0.01,
    epsilon=1e-8,
    adjust_lr="spectral_norm",
    ns_set="polar_express",
    ns_steps=None,
    maximize=False,
):
    """Ahn, Amsel and Langford (arXiv 2512.16928), as in Dion: rows of the shorter side."""

    def update(self, p, g, state, h, t):
        b = state.get("b", torch.zeros_like(g)) + g
        rows, columns = sides(p)
        if p.dim() < 2:
            state["b"] = h.ef_decay * b
            step = orthogonal(b, h.ns_set, h.ns_steps, h.epsilon)
        else:
            side = -2 if rows <= columns else -1
            sums = b.abs().sum(dim=-3 - side)
            count = max(1, math.ceil(h.fraction * sums.shape[-1]))
            places = sums.sort(dim=-1, descending=True, stable=True).indices[..., :count]
            places = places.unsqueeze(-3 - side).expand(
                *p.shape[:-2], *((count, columns) if side == -2 else (rows, count))
            )
            chosen = b.gather(side, places)
            state["b"] = b.scatter(side, places, h.ef_decay * chosen)
            o = orthogonal(chosen, h.ns_set, h.ns_steps, h.epsilon)
            step = torch.zeros_like(b).scatter(side, places, o)
        ratio = {
            "spectral_norm": math.sqrt(rows / columns),
            "rms_norm": 0.2 * math.sqrt(max(rows, columns)),
            "none": 1,
        }[h.adjust_lr]
        return p * (1 - h.lr * h.weight_decay) - h.lr * ratio * step


class PolarGrad(
    Published,
    lr=3e-4,
    momentum=0.95,
    weight_decay=0.01,
    extra_scale_factor=1.0,
    eps=1e-7,
    nesterov=False,
    polar_first=False,
    ns_set="quintic",
    ns_steps=None,
    maximize=False,
):
    """Lau, Long and Su (arXiv 2505.21799), with Newton and Schulz's iteration."""

    def update(self, p, g, state, h, t):
        if h.polar_first:
            o = orthogonal(g, h.ns_set, h.ns_steps, h.eps)
            nuclear, direction = inner(o, g), average(state, "b", o, h.momentum)
        else:
            d = average(state, "b", g, h.momentum)
            if h.nesterov:
                d = h.momentum * d + (1 - h.momentum) * g
            direction = orthogonal(d, h.ns_set, h.ns_steps, h.eps)
            nuclear = inner(direction, d)
        step = h.lr * h.extra_scale_factor * nuclear * direction
        return p * (1 - h.lr * h.weight_decay) - step


class Scion(
    Published,
    lr=1e-3,
    momentum=1.0,
    scale=1.0,
    eps=1e-8,
    norm="Auto",
    unconstrained=False,
    normalized=None,
    transposed=False,
    clamped=False,
    ns_set="simple",
    ns_steps=None,
    maximize=False,
):
    """Pethick et al. (arXiv 2502.07529): the norms of their code."""

    def update(self, p, g, state, h, t):
        d = average(state, "d", g, 1 - h.momentum)
        normalized = h.norm != "ColNorm" if h.normalized is None else h.normalized
        lmo = self.lmo(d if d.dim() >= 2 else d.reshape(-1, 1), h, normalized, d.dim() >= 2)
        return (p if h.unconstrained else p * (1 - h.lr)) - h.lr * h.scale * lmo.reshape(d.shape)

    @staticmethod
    def lmo(d, h, normalized, is_matrix):
        """The minimizer over the unit ball, negated; a vector is given as one column."""
        rows, columns = d.shape[-2:]
        if h.norm == "Spectral" or (h.norm == "Auto" and is_matrix):
            factor = math.sqrt(rows / columns) if normalized else math.sqrt(rows)
            factor = max(1, factor) if h.clamped else factor
            return factor * orthogonal(d if is_matrix else d[:, 0], h.ns_set, h.ns_steps, h.eps)
        if h.norm == "Sign":
            return d.sign() / columns if normalized else d.sign()
        swapped = h.transposed and h.norm in ("ColNorm", "RowNorm")
        if swapped:
            d, rows, columns = d.mT, columns, rows
        if h.norm == "RowNorm":
            length = d.square().sum(dim=-1, keepdim=True).sqrt()
            length = math.sqrt(columns) * length if normalized else length
        else:
            length = d.square().mean(dim=-2, keepdim=True).sqrt()
            length = columns * length if normalized and h.norm == "ColNorm" else length
        result = d / (length + h.eps)
        return result.mT if swapped else result
