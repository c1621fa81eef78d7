"""Prodigy, whose step size is learned for all parameters together."""

import math

import torch

from .base import Published, kept


class Prodigy(
    Published,
    lr=1.0,
    beta1=0.9,
    beta2=0.999,
    beta3=math.sqrt(0.999),
    eps=1e-8,
    weight_decay=0.0,
    d0=1e-6,
    d_coef=1.0,
    growth_rate=math.inf,
    maximize=False,
):
    """Mishchenko and Defazio (2024), algorithm 4, with the weights of the authors' code.

    There, gradients enter the sums as d / d0 times the step's rate, and d may jump from d0 to its
    first estimate.
    """

    def step_group(self, members, hypers):
        h, sums = hypers, self.__dict__.setdefault("sums", {})
        d = sums.get("d", h.d0)
        rate = d * h.lr
        weight = d / h.d0 * rate
        numerator, denominator = h.beta3 * sums.get("numerator", 0), 0
        for p in members:
            g = -p.grad if h.maximize else p.grad
            state = self.state[p]
            zero = torch.zeros_like(p)
            numerator += weight * (g * (kept(state, "p0", p.clone()) - p)).sum().item()
            state["s"] = h.beta3 * state.get("s", zero) + weight * g
            denominator += state["s"].abs().sum().item()
            state["m"] = h.beta1 * state.get("m", zero) + (1 - h.beta1) * d * g
            state["v"] = h.beta2 * state.get("v", zero) + (1 - h.beta2) * d**2 * g**2
        estimate = h.d_coef * numerator / denominator if denominator > 0 else d
        largest = max(sums.get("largest", h.d0), estimate)
        new_d = min(largest, (max(d, estimate) if d == h.d0 else d) * h.growth_rate)
        sums.update(d=new_d, numerator=numerator, largest=largest)
        for p in members:
            state = self.state[p]
            decayed = p - rate * h.weight_decay * p
            p.copy_(decayed - rate * state["m"] / (state["v"].sqrt() + new_d * h.eps))
