"""Schedule-free optimizers (Defazio et al., 2024) and GPA (Defazio et al., 2025), with x, y and z
as in the papers.

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


class GPAAdamW(
    Published,
    lr=1.0,
    beta1=0.9,
    beta2=0.999,
    eps=1e-8,
    weight_decay=0.0,
    train_interp_coeff=0.7,
    eval_interp_coeff=0.9967,
    use_wd_on_y=False,
    maximize=False,
):
    """Generalized primal averaging around AdamW, with the weight decay of the authors' code: z or y
    decays, and x is the point between which the other two then determine.
    """

    def update(self, p, g, state, h, t):
        m = average(state, "m", g, h.beta1) / (1 - h.beta1**t)
        v = average(state, "v", g**2, h.beta2) / (1 - h.beta2**t)
        y, z, x = p, kept(state, "z", p), kept(state, "x", p)
        if h.weight_decay != 0:
            if h.use_wd_on_y:
                y = y - h.lr * h.weight_decay * y
            else:
                z = z - h.lr * h.weight_decay * z
            x = (y - (1 - h.train_interp_coeff) * z) / h.train_interp_coeff
        z = state["z"] = z - h.lr * m / (v.sqrt() + h.eps)
        x = state["x"] = h.eval_interp_coeff * x + (1 - h.eval_interp_coeff) * z
        return h.train_interp_coeff * x + (1 - h.train_interp_coeff) * z
