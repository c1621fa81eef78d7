"""Optimizers that change one part of Adam or AdamW."""

import torch

from .base import Published, average, kept


class StableAdamW(
    Published, lr=1e-3, beta1=0.9, beta2=0.99, eps=1e-6, weight_decay=1e-2, maximize=False
):
    """Wortsman et al. (2023), algorithm 2."""

    def update(self, p, g, state, h, t):
        v = average(state, "u", g**2, h.beta2) / (1 - h.beta2**t)
        m = average(state, "v", g, h.beta1) / (1 - h.beta1**t)
        rms = (g**2 / v.clamp(min=h.eps**2)).mean().sqrt()
        rate = h.lr / max(1.0, rms.item())
        return p - rate * h.weight_decay * p - rate * m / (v.sqrt() + h.eps)


class ADOPT(
    Published,
    lr=1e-3,
    beta1=0.9,
    beta2=0.9999,
    eps=1e-6,
    weight_decay=0.0,
    clipped=True,
    decoupled_weight_decay=False,
    maximize=False,
):
    """Taniguchi et al. (2024), algorithm 2; the first gradient is the paper's g_0."""

    def update(self, p, g, state, h, t):
        if not h.decoupled_weight_decay:
            g = g + h.weight_decay * p
        if t == 1:
            state["v"] = g**2
            return p
        direction = g / torch.clamp(state["v"].sqrt(), min=h.eps)
        if h.clipped:
            bound = (t - 1) ** 0.25
            direction = direction.clamp(-bound, bound)
        m = average(state, "m", direction, h.beta1)
        average(state, "v", g**2, h.beta2)
        decay = h.lr * h.weight_decay if h.decoupled_weight_decay else 0
        return p - decay * p - h.lr * m


class LaProp(
    Published,
    lr=4e-4,
    beta1=0.9,
    beta2=0.999,
    eps=1e-15,
    weight_decay=0.0,
    amsgrad=False,
    maximize=False,
):
    """Ziyin, Wang and Ueda (2020), algorithm 1. As in the authors' code, the momentum and its
    correction contain the learning rates of the steps.
    """

    def update(self, p, g, state, h, t):
        v = average(state, "v", g**2, h.beta2)
        if h.amsgrad:
            v = state["max"] = torch.maximum(state.get("max", torch.zeros_like(v)), v)
        direction = g / ((v / (1 - h.beta2**t)).sqrt() + h.eps)
        # The mean of the directions, with weights that fall with their age.
        steps = kept(state, "steps", [])
        steps.append((h.lr, direction))
        weights = [rate * h.beta1 ** (len(steps) - 1 - i) for i, (rate, _) in enumerate(steps)]
        pairs = zip(weights, steps, strict=True)
        mean = sum(weight * each for weight, (_, each) in pairs) / sum(weights)
        moved = p - h.lr * mean
        return moved - h.weight_decay * moved


class Grams(
    Published,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-6,
    weight_decay=0.0,
    bias_correction=True,
    maximize=False,
):
    """Cao, Li and Song (2024), algorithm 1, with eps outside of the correction as in their code."""

    def update(self, p, g, state, h, t):
        m, v = average(state, "m", g, h.beta1), average(state, "v", g**2, h.beta2)
        first, second = (1 - h.beta1**t, 1 - h.beta2**t) if h.bias_correction else (1.0, 1.0)
        size = (m / first).abs() / ((v.sqrt() + h.eps) / second**0.5)
        return p - h.lr * h.weight_decay * p - h.lr * torch.sign(g) * size


class AdamC(
    Published,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=1e-2,
    max_lr=1e-3,
    normalized=True,
    maximize=False,
):
    """Defazio (2025), algorithm 2."""

    def update(self, p, g, state, h, t):
        m = average(state, "m", g, h.beta1) / (1 - h.beta1**t)
        v = average(state, "v", g**2, h.beta2) / (1 - h.beta2**t)
        decay = h.weight_decay * (h.lr / h.max_lr if h.normalized else 1)
        return p - h.lr * (m / (v.sqrt() + h.eps) + decay * p)
