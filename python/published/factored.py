"""Optimizers whose second moments have fewer values than the parameter."""

from .base import Published, average, kept


class CAME(
    Published,
    lr=2e-4,
    beta1=0.9,
    beta2=0.999,
    beta3=0.9999,
    eps1=1e-30,
    eps2=1e-16,
    clip_threshold=1.0,
    weight_decay=0.0,
    maximize=False,
):
    """Luo et al. (2023), algorithm 2, with the step for vectors of the authors' code."""

    def update(self, p, g, state, h, t):
        if p.dim() >= 2:
            root = root_of_factored(state, "moment", g**2 + h.eps1, h.beta2)
        else:
            root = average(state, "v", g**2 + h.eps1, h.beta2).sqrt()
        u = g / root
        rms = (u**2).mean().sqrt().item()
        u = u / max(1.0, rms / h.clip_threshold)
        m = average(state, "m", u, h.beta1)
        step = m
        if p.dim() >= 2:
            step = m / root_of_factored(state, "instability", (u - m) ** 2 + h.eps2, h.beta3)
        return p - h.lr * (step + h.weight_decay * p)


def root_of_factored(state, name, value, beta):
    """Averages the row and column means of each matrix; returns the root of their rank-1 matrix."""
    rows = average(state, f"{name} of rows", value.mean(dim=-1, keepdim=True), beta)
    columns = average(state, f"{name} of columns", value.mean(dim=-2, keepdim=True), beta)
    # In f32, the product before the root may be 0.
    return (rows / rows.mean(dim=-2, keepdim=True)).sqrt() * columns.sqrt()


class AdamMini(
    Published,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=0.0,
    block="row",
    maximize=False,
):
    """Zhang et al. (2025), algorithm 1, with the blocks of Updraft's rule."""

    def update(self, p, g, state, h, t):
        square = g**2
        if h.block == "tensor" or (h.block == "batch" and p.dim() < 2):
            square = square.mean()
        elif p.dim() >= 2:
            square = square.mean(dim=-1 if h.block == "row" else (-2, -1), keepdim=True)
        m = average(state, "m", g, h.beta1) / (1 - h.beta1**t)
        v = h.beta2 * kept(state, "v", 0) + (1 - h.beta2) * square
        state["v"] = v
        return p - h.lr * (m / ((v / (1 - h.beta2**t)).sqrt() + h.eps) + h.weight_decay * p)
