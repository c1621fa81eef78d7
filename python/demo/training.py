"""Trains the same network with Updraft's AdamW and with torch's."""

import dataclasses

import numpy
import sklearn.datasets
import torch

import updraft

BATCH = 32
SEED = 1


@dataclasses.dataclass
class Result:
    """The loss of every step, and the accuracy on test digits."""

    ours: numpy.ndarray
    theirs: numpy.ndarray
    our_accuracy: float
    their_accuracy: float
    steps_per_epoch: int

    @property
    def our_last(self):
        return float(self.ours[-self.steps_per_epoch :].mean())

    @property
    def their_last(self):
        return float(self.theirs[-self.steps_per_epoch :].mean())

    @property
    def equal_steps(self):
        """The number of steps before the losses differ in a bit."""
        different = numpy.flatnonzero(self.ours != self.theirs)
        return int(different[0]) if different.size else len(self.ours)

    def difference(self, steps=None):
        """The largest difference of the losses, in the first `steps` or in all."""
        return float(numpy.abs(self.ours - self.theirs)[:steps].max())


def make_network(seed=SEED):
    """Returns the network, with the same weights at every call."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Linear(64, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )


def load_digits():
    """Returns images and labels, of training and of test."""
    images, labels = sklearn.datasets.load_digits(return_X_y=True)
    order = numpy.random.default_rng(SEED).permutation(len(images))
    images = torch.tensor(images[order] / 16, dtype=torch.float32)
    labels = torch.tensor(labels[order])
    cut = len(images) * 4 // 5
    return images[:cut], labels[:cut], images[cut:], labels[cut:]


def backward(network, images, labels):
    """Returns the loss, and leaves gradients in the parameters."""
    network.zero_grad()
    loss = torch.nn.functional.cross_entropy(network(images), labels)
    loss.backward()
    return loss.item()


def accuracy(network, images, labels):
    with torch.no_grad():
        return float((network(images).argmax(1) == labels).float().mean())


def train(rule, epochs, lr=1e-3):
    """Trains both networks on the same batches."""
    images, labels, test_images, test_labels = load_digits()
    ours, theirs = make_network(), make_network()
    params = list(ours.parameters())
    optimizer = updraft.ArrayOptimizer(rule, params, lr=lr)
    reference = torch.optim.AdamW(theirs.parameters(), lr=lr, foreach=False)

    our_losses, their_losses = [], []
    generator = torch.Generator().manual_seed(SEED)
    for _ in range(epochs):
        batches = torch.randperm(len(images), generator=generator).split(BATCH)
        for batch in batches:
            our_losses.append(backward(ours, images[batch], labels[batch]))
            optimizer.step([param.grad for param in params])
            their_losses.append(backward(theirs, images[batch], labels[batch]))
            reference.step()

    return Result(
        ours=numpy.array(our_losses),
        theirs=numpy.array(their_losses),
        our_accuracy=accuracy(ours, test_images, test_labels),
        their_accuracy=accuracy(theirs, test_images, test_labels),
        steps_per_epoch=len(batches),
    )
