"""KL-Shampoo: Shampoo's factors from gradients that the other side's factor has whitened."""

import torch

from .base import WithChoices
from .soap import SIDES, descending_eigenvectors, into, normalized, out_of, outer_products


def root(values):
    """1 / sqrt of each value; 0 where that is not a finite number."""
    return values.sqrt().reciprocal().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)


class KLShampoo(
    WithChoices,
    lr=1e-4,
    beta1=0.9,
    beta2=0.98,
    shampoo_beta=-1,
    eps=1e-8,
    weight_decay=0.01,
    precondition_frequency=10,
    init_factor=0.1,
    max_clamp_value=4000,
    using_clamping=True,
    normalize_grads=False,
    maximize=False,
):
    """Lin et al. (arXiv 2509.03378), as in their code, without its damping.

    A vector has eigenvalues without bases, from squares of its elements. `choose` may give other
    first eigenvectors, as for SOAP.
    """

    def update(self, p, g, state, h, t):
        is_matrix = p.dim() >= 2
        beta = h.shampoo_beta if h.shampoo_beta >= 0 else h.beta2
        if t == 1:
            self.start(g, state, h, beta, is_matrix)
            return p
        state["m"] = state["m"] + (1 - h.beta1) * (g - state["m"])
        roots = state["roots"]
        if is_matrix:
            both = roots["left"][..., :, None] * roots["right"][..., None, :]
            u = into(state["m"], state["Q"]) * (both / (1 + both * h.eps))
            u = out_of(u, state["Q"])
            self.update_factors(g, state, h, beta)
            if (t - 1) % h.precondition_frequency == 0:
                for side in SIDES:
                    moved = state["GG"][side] @ state["Q"][side]
                    state["Q"][side] = torch.linalg.qr(moved).Q
        else:
            u = state["m"] * (roots / (1 + roots * h.eps))
            state["roots"] = self.averaged(roots, g * g, h, beta, g.numel())
        u = normalized(u) if h.normalize_grads else u
        p = p - h.lr * u
        return p - h.lr * h.weight_decay * p

    def start(self, g, state, h, beta, is_matrix):
        """Makes the states from the first gradient."""
        state["m"] = torch.zeros_like(g)
        if not is_matrix:
            state["roots"] = root(torch.full_like(g, h.init_factor))
            return
        lengths = {"left": g.shape[-2], "right": g.shape[-1]}
        state["GG"], state["Q"], state["roots"] = {}, {}, {}
        for side, product in outer_products(g).items():
            others = g.shape[-2] * g.shape[-1] / lengths[side]
            state["GG"][side] = (1 - beta) / others * product
            basis = descending_eigenvectors(state["GG"][side])
            state["Q"][side] = self.chosen(f"basis {side}", basis)
            factors = torch.full((*g.shape[:-2], lengths[side]), h.init_factor, dtype=g.dtype)
            state["roots"][side] = root(factors)

    def update_factors(self, g, state, h, beta):
        """Adds a gradient to the factors and to the eigenvalues, all with the roots before it."""
        bases, old = state["Q"], dict(state["roots"])
        rows, columns = g.shape[-2:]
        half = {
            "left": (bases["right"].mT @ g.mT) * old["right"][..., :, None],
            "right": (bases["left"].mT @ g) * old["left"][..., :, None],
        }
        for side, others in zip(SIDES, (columns, rows), strict=True):
            product = half[side].mT @ half[side]
            state["GG"][side] = beta * state["GG"][side] + (1 - beta) / others * product
        turned = into(g, bases)
        squares = {
            "left": (turned * old["right"][..., None, :]).square().mean(dim=-1),
            "right": (turned * old["left"][..., :, None]).square().mean(dim=-2),
        }
        for side, length in zip(SIDES, (rows, columns), strict=True):
            state["roots"][side] = self.averaged(old[side], squares[side], h, beta, length)

    @staticmethod
    def averaged(old, squares, h, beta, length):
        """The roots after the eigenvalues have moved towards these squares."""
        values = old.square().reciprocal().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
        roots = root(torch.lerp(values, squares, 1 - beta))
        if h.using_clamping:
            roots = roots.clamp(max=max(10, min(length, h.max_clamp_value)))
        return roots
