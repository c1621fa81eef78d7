"""Optimizers that scale the step of each parameter's tensor by norms."""

from .base import Published, average


class LAMB(
    Published,
    lr=1e-3,
    beta1=0.9,
    beta2=0.999,
    eps=1e-6,
    weight_decay=0.0,
    maximize=False,
):
    """You et al. (2020), algorithm 2."""

    def update(self, p, g, state, h, t):
        m = average(state, "m", g, h.beta1) / (1 - h.beta1**t)
        v = average(state, "v", g**2, h.beta2) / (1 - h.beta2**t)
        direction = m / (v.sqrt() + h.eps) + h.weight_decay * p
        above, below = p.norm().item(), direction.norm().item()
        ratio = above / below if above > 0 and below > 0 else 1
        return p - h.lr * ratio * direction


class LARS(
    Published,
    lr=0.1,
    momentum=0.9,
    trust_coefficient=1e-3,
    weight_decay=5e-4,
    maximize=False,
):
    """You, Gitman and Ginsburg (2017), algorithm 1."""

    def update(self, p, g, state, h, t):
        above, below = p.norm().item(), g.norm().item()
        rate = 1.0
        if above > 0 and below > 0:
            rate = h.trust_coefficient * above / (below + h.weight_decay * above)
        moved = h.lr * rate * (g + h.weight_decay * p)
        state["v"] = h.momentum * state.get("v", 0) + moved
        return p - state["v"]


class NovoGrad(
    Published,
    lr=1e-2,
    beta1=0.95,
    beta2=0.98,
    eps=1e-8,
    weight_decay=0.0,
    maximize=False,
):
    """Ginsburg et al. (2019), algorithm 1."""

    def update(self, p, g, state, h, t):
        square = (g**2).sum().item()
        v = square if t == 1 else h.beta2 * state["v"] + (1 - h.beta2) * square
        direction = g / (v**0.5 + h.eps) + h.weight_decay * p
        state["v"] = v
        state["m"] = direction if t == 1 else h.beta1 * state["m"] + direction
        return p - h.lr * state["m"]
