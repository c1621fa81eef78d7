"""torch's table of optimizers: small models for all of its classes."""

import copy

import torch
from torch.testing._internal.common_optimizers import optim_db

from updraft import optim

INFOS = [info for info in optim_db if info.name in optim.__all__]


def configurations(info, *, tensors=True):
    """The table's options for the CPU; without `tensors`, only plain values."""
    for entry in info.optim_inputs_func(device="cpu"):
        if tensors or not any(isinstance(v, torch.Tensor) for v in entry.kwargs.values()):
            yield copy.deepcopy(entry.kwargs)


class Model:
    """The product of a matrix and a vector, with a bias if the class supports vectors."""

    def __init__(self, info, contiguous=True, seed=0):
        generator = torch.Generator().manual_seed(seed)

        def param(*shape):
            if contiguous:
                return torch.nn.Parameter(torch.randn(shape, generator=generator))
            return torch.nn.Parameter(torch.randn((*shape, 2), generator=generator)[..., 0])

        self.info = info
        self.params = [param(10, 5)] if info.name == "Muon" else [param(10, 5), param(10)]
        self.input = torch.randn(5, generator=generator)

    def loss(self):
        weight, *bias = self.params
        return sum(bias, weight @ self.input).square().sum()

    def backward(self):
        """Computes gradients in the form that the class needs, and returns the loss."""
        for param in self.params:
            param.grad = None
        loss = self.loss()
        loss.backward()
        if self.info.only_supports_sparse_grads:
            for param in self.params:
                param.grad = param.grad.to_sparse()
        return loss

    def step(self, optimizer):
        """Steps an optimizer of the class in its own way; returns the loss."""
        if self.info.step_requires_closure:
            return optimizer.step(self.backward)
        loss = self.backward()
        optimizer.step()
        return loss

    def named(self):
        return [(f"name{number}", param) for number, param in enumerate(self.params)]


def ours(info):
    """Our class for an entry of the table."""
    return getattr(optim, info.name)
