"""PSGD-PRO: Kronecker factors that whiten the momentum, kept symmetric by Procrustes steps."""

import math

import torch

from .base import WithChoices, average
from .muon import whole_norm


def lower_bound(a, scale, vectors):
    """A lower bound of each matrix's spectral norm, from the rows of `vectors`."""
    tiny = torch.finfo(a.dtype).smallest_normal
    scale = scale + tiny
    a = a / scale
    longest = torch.linalg.vector_norm(a, dim=-1).argmax(dim=-1)
    row = torch.take_along_dim(a, longest[..., None, None], dim=-2)
    v = row + torch.sign((row * vectors).sum(dim=-1, keepdim=True)) * vectors
    for _ in range(2):
        v = v @ a
        v = v / (torch.linalg.vector_norm(v, dim=-1, keepdim=True) + tiny)
        v = v @ a
    return scale * torch.linalg.vector_norm(v, dim=-1).amax(dim=-1)[..., None, None]


def positive_bound(a, vectors):
    """The bound for positive matrices."""
    largest = torch.diagonal(a, dim1=-2, dim2=-1).amax(dim=-1)[..., None, None]
    return lower_bound(a, largest, vectors)


def skew_bound(a, vectors):
    """The bound for skew-symmetric matrices."""
    return lower_bound(a, a.abs().amax(dim=(-2, -1), keepdim=True), vectors)


def trace(a):
    return torch.diagonal(a, dim1=-2, dim2=-1).sum(dim=-1)[..., None, None]


def procrustes_step(q, vectors, largest_step=0.125):
    """A rotation towards the nearest symmetric matrix, to the second order."""
    r = q.mT - q
    r = r / (skew_bound(r, vectors) + torch.finfo(r.dtype).smallest_normal)
    rq = r @ q
    rrq = r @ rq
    length = (-trace(rq) / trace(rrq)).clamp(min=0, max=largest_step)
    length = torch.where(trace(rrq) < 0, length, torch.full_like(length, largest_step))
    return q + length * (rq + 0.5 * length * rrq)


def preconditioned(x, q):
    """Applies the factors of both sides, then their transposes."""
    return q[0].mT @ (q[0] @ x @ q[1].mT) @ q[1]


class PSGDPro(
    WithChoices,
    lr=3e-3,
    weight_decay=0.01,
    momentum=0.9,
    beta_lip=0.9,
    precond_lr=0.1,
    precond_init_scale=1.0,
    damping_noise_scale=0.1,
    min_precond_lr=0.01,
    warmup_steps=10000,
    max_update_rms=0.0,
    maximize=False,
):
    """Li (arXiv 2402.11858), as in NVIDIA's Emerging Optimizers; bounds as in the author's code.

    Vectors have diagonal factors, also from the author's code.

    `choose` may give other random numbers: "noise" of the parameter's shape, and rows of vectors
    for "covariance" and "skew" of "left" and "right".
    """

    def update(self, p, g, state, h, t):
        m = average(state, "m", g, h.momentum)
        rate = max(h.precond_lr / math.sqrt(1 + (t - 1) / h.warmup_steps), h.min_precond_lr)
        noise = self.chosen("noise", torch.randn_like(g))
        noisy = m + (h.damping_noise_scale + 1e-7 * m.abs()) * noise
        update = self.update_matrix if p.dim() >= 2 else self.update_vector
        u = update(m, noisy, state, h, rate)
        if h.max_update_rms != 0:
            rms = whole_norm(u) / math.sqrt(
                u.shape[-2] * u.shape[-1] if u.dim() >= 2 else u.numel()
            )
            u = u * (h.max_update_rms / (rms + 1e-7)).clamp(max=1.0)
        p = p - h.lr * h.weight_decay * p
        return p - h.lr * u

    @staticmethod
    def averaged_bound(old, new, h):
        """The largest bound, which decays."""
        return torch.maximum(h.beta_lip * old + (1 - h.beta_lip) * new, new)

    def update_vector(self, m, noisy, state, h, rate):
        q = state.get("Q", torch.full_like(m, h.precond_init_scale))
        covariance = (q * q * noisy) ** 2
        old = state.get("L", torch.ones((), dtype=m.dtype))
        state["L"] = self.averaged_bound(old, covariance.amax() + 1, h)
        state["Q"] = q = q * (1 - rate / state["L"] * (covariance - 1))
        return q * q * m

    def update_matrix(self, m, noisy, state, h, rate):
        *batches, rows, columns = m.shape
        if "Q" not in state:
            eyes = [
                torch.eye(side, dtype=m.dtype).expand(*batches, -1, -1) for side in m.shape[-2:]
            ]
            state["Q"] = [h.precond_init_scale * eye for eye in eyes]
            state["L"] = [torch.ones(*batches, 1, 1, dtype=m.dtype) for _ in eyes]
        x = preconditioned(noisy, state["Q"])
        covariances = [x @ x.mT, x.mT @ x]
        fitted = []
        for i, (side, others) in enumerate([("left", columns), ("right", rows)]):
            q, covariance = state["Q"][i], covariances[i]
            vectors = torch.randn(*batches, 32, q.shape[-1], dtype=m.dtype)
            bound = positive_bound(covariance, self.chosen(f"covariance {side}", vectors)) + others
            state["L"][i] = self.averaged_bound(state["L"][i], bound, h)
            q = q - rate / state["L"][i] * (covariance @ q - others * q)
            vectors = torch.randn(*batches, 32, q.shape[-1], dtype=m.dtype)
            fitted.append(procrustes_step(q, self.chosen(f"skew {side}", vectors)))
        sizes = [q.abs().amax(dim=(-2, -1), keepdim=True) for q in fitted]
        common = (sizes[0] * sizes[1]).sqrt()
        state["Q"] = [q * (common / size) for q, size in zip(fitted, sizes, strict=True)]
        return preconditioned(m, state["Q"])
