"""Shampoo: inverse fourth roots of both factors of a matrix."""

import torch

from .base import Published
from .muon import whole_norm


def eigen_root(matrix, epsilon):
    """The inverse fourth root by eigenvalues, which are shifted if one is less than epsilon."""
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype)
    values, vectors = torch.linalg.eigh(matrix + epsilon * identity)
    least = values.amin(dim=-1, keepdim=True)
    values = torch.where(least < epsilon, values - least + epsilon, values)
    return (vectors * values.pow(-0.25)[..., None, :]) @ vectors.mT


def newton_root(matrix, epsilon, iterations, tolerance=0.0):
    """The inverse fourth root by coupled Newton iterations.

    Meta's code has the tolerance 1e-6 and 100 iterations.
    """
    power = 4
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype)
    ridge = matrix + epsilon * identity
    z = (power + 1) / (2 * whole_norm(ridge))
    x, m = z ** (1 / power) * identity, z * ridge
    for _ in range(iterations):
        if (m - identity).abs().amax() <= tolerance:
            break
        factor = (1 + 1 / power) * identity - m / power
        x = x @ factor
        m = torch.linalg.matrix_power(factor, power) @ m
    return x


class Shampoo(
    Published,
    lr=1e-2,
    beta1=0.9,
    beta2=1.0,
    epsilon=1e-12,
    weight_decay=0.0,
    precondition_frequency=1,
    start_preconditioning_step=-1,
    grafting_beta2=0.999,
    grafting_epsilon=1e-10,
    use_bias_correction=True,
    grafting="adam",
    root_inverse="eigh",
    max_iterations=30,
    maximize=False,
):
    """Gupta et al. (2018), as in Meta's code for tensors of order two, with grafting to Adam.

    A vector has Adam's step.
    """

    def update(self, p, g, state, h, t):
        is_matrix = p.dim() >= 2
        start = h.start_preconditioning_step
        start = h.precondition_frequency if start == -1 else start
        if is_matrix:
            self.update_factors(g, state, h, t, start)
        if h.grafting == "adam" or not is_matrix:
            v = state.get("v", torch.zeros_like(g))
            state["v"] = h.grafting_beta2 * v + (1 - h.grafting_beta2) * g * g
        m = state.get("m", torch.zeros_like(g))
        state["m"] = m + (1 - h.beta1) * (g - m)
        d = state["m"] / (1 - h.beta1**t) if h.use_bias_correction else state["m"]
        direction = self.direction(d, state, h, t, is_matrix, uses_adam=t < start)
        return p - h.lr * (direction + h.weight_decay * p)

    @staticmethod
    def direction(d, state, h, t, is_matrix, uses_adam):
        """Returns the direction, which the learning rate multiplies."""
        if h.grafting == "adam" or not is_matrix:
            adam = d / ((state["v"] / (1 - h.grafting_beta2**t)).sqrt() + h.grafting_epsilon)
            if uses_adam or not is_matrix:
                return adam
        preconditioned = state["roots"][0] @ d @ state["roots"][1]
        if h.grafting == "none":
            return preconditioned
        return preconditioned * (whole_norm(adam) / (whole_norm(preconditioned) + 1e-16))

    @staticmethod
    def update_factors(g, state, h, t, start):
        """Adds a gradient to both factors; at some steps, computes their roots."""
        products = [g @ g.mT, g.mT @ g]
        zeros = [torch.zeros_like(product) for product in products]
        weight = 1 - h.beta2 if h.beta2 < 1 else 1.0
        state["factors"] = [
            h.beta2 * factor + weight * product
            for factor, product in zip(state.get("factors", zeros), products, strict=True)
        ]
        correction = 1 - h.beta2**t if h.use_bias_correction and h.beta2 < 1 else 1.0
        state.setdefault("roots", [torch.eye(x.shape[-1], dtype=x.dtype) for x in products])
        if (t % h.precondition_frequency == 0 and t > start) or t == start:
            corrected = [factor / correction for factor in state["factors"]]
            if h.root_inverse == "eigh":
                state["roots"] = [eigen_root(matrix, h.epsilon) for matrix in corrected]
            else:
                state["roots"] = [
                    newton_root(matrix, h.epsilon, h.max_iterations) for matrix in corrected
                ]
