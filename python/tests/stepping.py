"""Steps an optimizer like PyTorch's and one of Updraft side by side."""

import itertools

import numpy
import torch

STEPS = 20
SHAPES = [(41, 29), (7,), (1,), (3, 5, 2), ()]
SCALES = [1.0, 30.0, 0.5, 0.1, 1.0]


def random_params(generator, dtype, shapes=SHAPES):
    """Returns parameters of all shapes, with magnitudes from SCALES, and equal arrays."""
    theirs = [
        torch.nn.Parameter(scale * torch.randn(shape, generator=generator, dtype=dtype))
        for shape, scale in zip(shapes, itertools.cycle(SCALES), strict=False)
    ]
    return theirs, [param.detach().clone().numpy() for param in theirs]


def twenty_steps(reference, optimizer, generator):
    """Steps both with the same random gradients; yields the number of each step after it.

    The learning rate drops halfway, as with a scheduler.
    """
    params = reference.param_groups[0]["params"]
    for step in range(1, STEPS + 1):
        if step == STEPS // 2:
            reference.param_groups[0]["lr"] *= 0.3
            optimizer.groups[0]["lr"] *= 0.3
        for param in params:
            param.grad = torch.randn(param.shape, generator=generator, dtype=param.dtype)
        reference.step()
        optimizer.step([param.grad.numpy() for param in params])
        yield step


class Closeness:
    """The distance between two lists of parameters, at the scale of each parameter.

    The scale is the largest magnitude that its elements have had.
    """

    def __init__(self, theirs, ours):
        self.theirs, self.ours = theirs, ours
        self.before = [param.copy() for param in ours]
        self.scales = [numpy.abs(param).max() for param in ours]

    def errors(self):
        """Returns the largest difference of each parameter, and its scale."""
        errors = []
        for index, (their, our) in enumerate(zip(self.theirs, self.ours, strict=True)):
            expected = their.detach().numpy() if isinstance(their, torch.Tensor) else their
            self.scales[index] = max(self.scales[index], numpy.abs(expected).max())
            error = numpy.abs(our.astype("float64") - expected).max()
            errors.append((error, self.scales[index]))
        return errors

    def check(self, step, ulp_per_step):
        """Asserts that differences are at most this many units in the last place of the scale."""
        for index, (error, scale) in enumerate(self.errors()):
            ulp = error / numpy.spacing(scale)
            assert ulp <= ulp_per_step * step, f"step {step}, parameter {index}: {ulp} ULP"

    def all_moved(self):
        """Returns whether every element has changed since the start."""
        return all((our != start).all() for our, start in zip(self.ours, self.before, strict=True))
