"""Optimizers with first moments only."""

import torch

from .base import Published, average


class QHM(
    Published,
    lr=1e-3,
    momentum=0.999,
    nu=0.7,
    weight_decay=0.0,
    weight_decay_type="grad",
    maximize=False,
):
    """Ma and Yarats (2019), section 3."""

    def update(self, p, g, state, h, t):
        if h.weight_decay_type == "grad":
            g = g + h.weight_decay * p
        else:
            p = p - h.lr * h.weight_decay * p
        buffer = average(state, "buffer", g, h.momentum)
        return p - h.lr * ((1 - h.nu) * g + h.nu * buffer)


class Lion(Published, lr=1e-4, beta1=0.9, beta2=0.99, weight_decay=0.0, maximize=False):
    """Chen et al. (2023), algorithm 2."""

    def update(self, p, g, state, h, t):
        old = state.get("m", torch.zeros_like(p))
        direction = torch.sign(h.beta1 * old + (1 - h.beta1) * g)
        average(state, "m", g, h.beta2)
        return p - h.lr * (direction + h.weight_decay * p)


class Signum(Published, lr=1e-4, momentum=0.9, weight_decay=0.0, maximize=False):
    """Bernstein et al. (2018), algorithm 2; signSGD with momentum 0."""

    def update(self, p, g, state, h, t):
        m = average(state, "m", g, h.momentum)
        return p - h.lr * (torch.sign(m) + h.weight_decay * p)
