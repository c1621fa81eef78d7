"""Writes scikit-learn's handwritten digits to a file for both trainers, shuffled."""

import sys

import torch
from sklearn.datasets import load_digits  # type: ignore

images, labels = load_digits(return_X_y=True)
order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1))
torch.save(
    {
        "images": torch.tensor(images / 16, dtype=torch.float32)[order],
        "labels": torch.tensor(labels)[order],
    },
    sys.argv[1],
)
