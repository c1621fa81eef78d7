"""SOAP: Adam in the eigenbases of Shampoo's factors."""

import torch

from .base import WithChoices

SIDES = ("left", "right")


def outer_products(g):
    """Each side's products of the gradient with itself."""
    return {"left": g @ g.mT, "right": g.mT @ g}


def into(x, bases):
    """Turns matrices into the bases of both sides."""
    return bases["left"].mT @ x @ bases["right"]


def out_of(x, bases):
    """Turns matrices back."""
    return bases["left"] @ x @ bases["right"].mT


def descending_eigenvectors(matrix):
    """The eigenvectors as columns, those of the largest eigenvalues first."""
    return torch.linalg.eigh(matrix).eigenvectors.flip(-1)


def normalized(u):
    """Divides each matrix, or a vector, by the root of its mean square."""
    square = u.square().mean(dim=(-2, -1), keepdim=True) if u.dim() >= 2 else u.square().mean()
    return u / (1e-30 + square.sqrt())


class SOAP(
    WithChoices,
    lr=3e-3,
    beta1=0.95,
    beta2=0.95,
    shampoo_beta=-1,
    eps=1e-8,
    weight_decay=0.01,
    precondition_frequency=10,
    normalize_grads=False,
    correct_bias=True,
    maximize=False,
):
    """Vyas et al. (arXiv 2409.11321), as in their code.

    Equal eigenvalues, such as zeros, allow any basis of their eigenvectors. `choose` may select it
    for "basis left" and "basis right".
    """

    def update(self, p, g, state, h, t):
        is_matrix = p.dim() >= 2
        beta = h.shampoo_beta if h.shampoo_beta >= 0 else h.beta2
        if t == 1:
            state["m"], state["v"] = torch.zeros_like(g), torch.zeros_like(g)
            if is_matrix:
                state["GG"] = {side: (1 - beta) * x for side, x in outer_products(g).items()}
                state["Q"] = {
                    side: self.chosen(f"basis {side}", descending_eigenvectors(state["GG"][side]))
                    for side in SIDES
                }
            return p
        count = t - 1
        h_ = into(g, state["Q"]) if is_matrix else g
        state["m"] = h.beta1 * state["m"] + (1 - h.beta1) * h_
        state["v"] = h.beta2 * state["v"] + (1 - h.beta2) * h_ * h_
        u = state["m"] / (state["v"].sqrt() + h.eps)
        u = out_of(u, state["Q"]) if is_matrix else u
        u = normalized(u) if h.normalize_grads else u
        rate = h.lr
        if h.correct_bias:
            rate = h.lr * (1 - h.beta2**count) ** 0.5 / (1 - h.beta1**count)
        p = p - rate * u
        p = p - h.lr * h.weight_decay * p
        if is_matrix:
            self.update_bases(g, state, beta, count % h.precondition_frequency == 0)
        return p

    @staticmethod
    def update_bases(g, state, beta, refreshes):
        """Adds a gradient to the factors; at some steps, moves the bases.

        The first moment always leaves the old bases and enters the new ones.
        """
        original = out_of(state["m"], state["Q"])
        for side, product in outer_products(g).items():
            state["GG"][side] = beta * state["GG"][side] + (1 - beta) * product
        if refreshes:
            bases = {}
            for side, axis in zip(SIDES, (-2, -1), strict=True):
                factor, basis = state["GG"][side], state["Q"][side]
                estimates = torch.diagonal(basis.mT @ factor @ basis, dim1=-2, dim2=-1)
                order = torch.argsort(estimates, dim=-1, descending=True)
                places = order[..., None] if side == "left" else order[..., None, :]
                state["v"] = torch.take_along_dim(state["v"], places, dim=axis)
                basis = torch.take_along_dim(basis, order[..., None, :], dim=-1)
                bases[side] = torch.linalg.qr(factor @ basis).Q
            state["Q"] = bases
        state["m"] = into(original, state["Q"])
