"""Schedule-free optimizers (Defazio et al., 2024), with x, y and z as in the paper.

The parameter is y, where gradients are taken.
"""

from .base import Published, average, kept


def interpolate(z, step, beta, rate, state):
    """Moves z by `step` and x towards it; returns y."""
    state["total"] = state.get("total", 0) + rate**2
    c = rate**2 / state["total"] if state["total"] > 0 else 0
    state["z"] = z - step
    state["x"] = (1 - c) * kept(state, "x", z) + c * state["z"]
    return (1 - beta) * state["z"] + beta * state["x"]


def warmed(h, t):
    return h.lr * min(1, t / h.warmup_steps) if h.warmup_steps else h.lr


class ScheduleFreeSGD(
    Published, lr=1.0, momentum=0.9, weight_decay=0.0, warmup_steps=0, maximize=False
):
    """Equations 3 to 5, averaged with weights of the squared rate."""

    def update(self, p, g, state, h, t):
        rate = warmed(h, t)
        step = rate * (g + h.weight_decay * p)
        return interpolate(kept(state, "z", p), step, h.momentum, rate, state)


class ScheduleFreeAdamW(
    Published,
    lr=2.5e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=0.0,
    warmup_steps=0,
    maximize=False,
):
    """Algorithm 1."""

    def update(self, p, g, state, h, t):
        rate = warmed(h, t) * (1 - h.beta2**t) ** 0.5
        v = average(state, "v", g**2, h.beta2)
        step = rate * (g / (v.sqrt() + h.eps) + h.weight_decay * p)
        return interpolate(kept(state, "z", p), step, h.beta1, rate, state)
