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
