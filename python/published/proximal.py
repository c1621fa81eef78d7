"""Optimizers that minimize a sum over all gradients, with a penalty that makes parameters 0."""

import torch

from .base import Published, kept


class FTRL(
    Published,
    lr=1e-3,
    lr_power=-0.5,
    initial_accumulator_value=0.1,
    l1=0.0,
    l2=0.0,
    beta=0.0,
    maximize=False,
):
    """McMahan et al. (2013), algorithm 1, with the power and twice the l2 of TensorFlow's."""

    def update(self, p, g, state, h, t):
        n = kept(state, "accumulator", torch.full_like(p, h.initial_accumulator_value))
        state["accumulator"] = n + g**2
        inverse_rate = (state["accumulator"] ** -h.lr_power + h.beta) / h.lr
        sigma = inverse_rate - (n**-h.lr_power + h.beta) / h.lr
        z = kept(state, "linear", torch.zeros_like(p)) + g - sigma * p
        state["linear"] = z
        moved = -torch.nn.functional.softshrink(z, h.l1) / (inverse_rate + 2 * h.l2)
        return torch.where(z.abs() <= h.l1, 0, moved)
