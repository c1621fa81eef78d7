"""Optimizers that divide by a root of second moments: Adam's relatives."""

import math

import torch

from .base import Published, average, kept


class AdaBelief(
    Published,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    weight_decay=0.0,
    eps=1e-16,
    amsgrad=False,
    maximize=False,
):
    """Zhuang et al. (2020), algorithm 2, with decoupled weight decay."""

    def update(self, p, g, state, h, t):
        m = average(state, "m", g, h.beta1)
        s = h.beta2 * state.get("s", 0) + (1 - h.beta2) * (g - m) ** 2 + h.eps
        state["s"] = s
        if h.amsgrad:
            s = state["max"] = torch.maximum(state.get("max", torch.zeros_like(s)), s)
        m_hat, s_hat = m / (1 - h.beta1**t), s / (1 - h.beta2**t)
        return p - h.lr * (m_hat / (s_hat.sqrt() + h.eps) + h.weight_decay * p)


class Yogi(
    Published,
    beta1=0.9,
    beta2=0.999,
    weight_decay=0.0,
    lr=1e-2,
    eps=1e-3,
    initial_accumulator_value=1e-6,
    bias_correction=True,
    maximize=False,
):
    """Zaheer et al. (2018), algorithm 2; with Adam's corrections of the bias as an option."""

    def update(self, p, g, state, h, t):
        g = g + h.weight_decay * p
        m = average(state, "m", g, h.beta1)
        v = kept(state, "v", torch.full_like(p, h.initial_accumulator_value))
        v = state["v"] = v - (1 - h.beta2) * torch.sign(v - g**2) * g**2
        if h.bias_correction:
            m, v = m / (1 - h.beta1**t), v / (1 - h.beta2**t)
        return p - h.lr * m / (v.sqrt() + h.eps)


class QHAdam(
    Published,
    lr=1e-3,
    beta2=0.999,
    eps=1e-8,
    weight_decay=0.0,
    beta1=0.995,
    nu1=0.7,
    nu2=1.0,
    decoupled_weight_decay=False,
    maximize=False,
):
    """Ma and Yarats (2019), section 4."""

    def update(self, p, g, state, h, t):
        if h.decoupled_weight_decay:
            p = p - h.lr * h.weight_decay * p
        else:
            g = g + h.weight_decay * p
        m = average(state, "m", g, h.beta1) / (1 - h.beta1**t)
        v = average(state, "v", g**2, h.beta2) / (1 - h.beta2**t)
        above = (1 - h.nu1) * g + h.nu1 * m
        below = ((1 - h.nu2) * g**2 + h.nu2 * v).sqrt() + h.eps
        return p - h.lr * above / below


class Adan(
    Published,
    lr=1e-3,
    eps=1e-8,
    weight_decay=0.0,
    beta1=0.98,
    beta2=0.92,
    beta3=0.99,
    no_prox=False,
    maximize=False,
):
    """Xie et al. (2024), algorithm 1, whose betas are 1 minus these."""

    def update(self, p, g, state, h, t):
        difference = g - kept(state, "g", g)
        state["g"] = g
        m = average(state, "m", g, h.beta1) / (1 - h.beta1**t)
        v = average(state, "v", difference, h.beta2) / (1 - h.beta2**t)
        n = average(state, "n", (g + h.beta2 * difference) ** 2, h.beta3) / (1 - h.beta3**t)
        move = h.lr * (m + h.beta2 * v) / (n.sqrt() + h.eps)
        if h.no_prox:
            return p - h.lr * h.weight_decay * p - move
        return (p - move) / (1 + h.lr * h.weight_decay)


class AdEMAMix(
    Published,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=0.0,
    beta3=0.9999,
    alpha=2.0,
    alpha_warmup=0,
    beta3_warmup=0,
    maximize=False,
):
    """Pagliardini, Ablin and Grangier (2025), algorithm 1 and the schedules of section 3.1."""

    def update(self, p, g, state, h, t):
        alpha = h.alpha * min(t / h.alpha_warmup, 1) if h.alpha_warmup else h.alpha
        beta3 = h.beta3
        if t < h.beta3_warmup:
            start, end, done = math.log(h.beta1), math.log(h.beta3), t / h.beta3_warmup
            beta3 = math.exp(start * end / ((1 - done) * end + done * start))
        fast = average(state, "fast", g, h.beta1) / (1 - h.beta1**t)
        slow = average(state, "slow", g, beta3)
        v = average(state, "v", g**2, h.beta2) / (1 - h.beta2**t)
        return p - h.lr * ((fast + alpha * slow) / (v.sqrt() + h.eps) + h.weight_decay * p)


class MARS(
    Published,
    eps=1e-8,
    weight_decay=0.0,
    lr=3e-3,
    beta1=0.95,
    beta2=0.99,
    gamma=0.025,
    clipped=True,
    maximize=False,
):
    """Yuan et al. (2025), algorithm 2 (MARS-AdamW), approximate."""

    def update(self, p, g, state, h, t):
        c = g + h.gamma * h.beta1 / (1 - h.beta1) * (g - kept(state, "g", g))
        state["g"] = g
        if h.clipped and c.norm() > 1:
            c = c / c.norm()
        m = average(state, "m", c, h.beta1) / (1 - h.beta1**t)
        v = average(state, "v", c**2, h.beta2) / (1 - h.beta2**t)
        return p - h.lr * (m / (v.sqrt() + h.eps) + h.weight_decay * p)


class Sophia(
    Published, lr=1e-4, beta1=0.96, gamma=0.05, eps=1e-12, weight_decay=0.2, maximize=False
):
    """Liu et al. (2024), algorithm 3, with the Hessian's diagonal in the state `hessian`."""

    def update(self, p, g, state, h, t):
        hessian = kept(state, "hessian", torch.zeros_like(p))
        m = average(state, "m", g, h.beta1)
        p = p - h.lr * h.weight_decay * p
        return p - h.lr * (m / (h.gamma * hessian).clamp(min=h.eps)).clamp(-1, 1)
