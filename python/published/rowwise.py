"""Optimizers with one value for each row of an embedding table."""

import torch

from .base import Published, kept


class RowwiseAdagrad(
    Published,
    lr=1e-2,
    lr_decay=0.0,
    weight_decay=0.0,
    initial_accumulator_value=0.0,
    eps=1e-10,
    maximize=False,
):
    """Mudigere et al. (2022), with the options of TorchRec's optimizer of this name."""

    def update(self, p, g, state, h, t):
        g = g + h.weight_decay * p
        squares = g**2
        if p.dim() >= 2:
            squares = squares.mean(dim=-1, keepdim=True)
        initial = torch.full_like(squares, h.initial_accumulator_value)
        state["sum"] = kept(state, "sum", initial) + squares
        rate = h.lr / (1 + (t - 1) * h.lr_decay)
        return p - rate * g / (torch.sqrt(state["sum"]) + h.eps)
