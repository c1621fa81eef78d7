"""Handwritten digits, and a softmax regression that tells them apart.

    python digits.py FILE

writes the digits as text, for programs in other languages: a line has 64 pixels from 0 to 16, and
the label. The first four fifths are for training.
"""

import sys

import numpy as np
from sklearn.datasets import load_digits  # type: ignore


def shuffled():
    """Returns pixels from 0 to 16, of the shape [digits, 64], and labels, of the shape [digits]."""
    pixels, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(1).permutation(len(labels))
    return pixels[order], labels[order]


def load():
    """Returns (images, labels) for training, and for tests. Images are f32 [digits, 64], 0 to 1."""
    pixels, labels = shuffled()
    images = (pixels / 16).astype(np.float32)
    split = len(labels) * 4 // 5
    return (images[:split], labels[:split]), (images[split:], labels[split:])


def initial_parameters():
    return {"weight": np.zeros((64, 10), np.float32), "bias": np.zeros(10, np.float32)}


def loss_and_gradients(parameters, images, labels):
    """Returns the mean cross entropy and its gradient by each parameter."""
    logits = images @ parameters["weight"] + parameters["bias"]
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = powers / powers.sum(axis=1, keepdims=True)
    right = np.arange(len(labels)), labels
    loss = -np.log(probabilities[right]).mean()
    probabilities[right] -= 1
    errors = probabilities / len(labels)
    return loss, {"weight": images.T @ errors, "bias": errors.sum(axis=0)}


def accuracy(parameters, images, labels):
    """Returns the fraction of the images that is classified correctly."""
    logits = images @ parameters["weight"] + parameters["bias"]
    return (logits.argmax(axis=1) == labels).mean()


if __name__ == "__main__":
    pixels, labels = shuffled()
    np.savetxt(sys.argv[1], np.column_stack([pixels, labels]), fmt="%d")
