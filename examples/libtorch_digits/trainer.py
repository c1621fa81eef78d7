"""The same training as trainer.cpp, with updraft.optim. Prints the loss of each step, in enough
digits to identify the float.

usage: trainer.py DIGITS STEPS
"""

import sys

import torch

from updraft import optim

BATCH = 32
RATE = 1e-2
HALVING = 100  # steps between two halvings of the rate


def main(digits: str, steps: int) -> None:
    data = torch.load(digits)
    images, labels = data["images"], data["labels"]
    train = len(images) * 4 // 5

    torch.manual_seed(1)
    network = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    )
    weights = [parameter for parameter in network.parameters() if parameter.dim() > 1]
    biases = [parameter for parameter in network.parameters() if parameter.dim() <= 1]
    optimizer = optim.AdamW([{"params": weights}, {"params": biases, "weight_decay": 0.0}], lr=RATE)

    for step in range(steps):
        first = step * BATCH % (train - BATCH)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            network(images[first : first + BATCH]), labels[first : first + BATCH]
        )
        loss.backward()
        optimizer.step()
        if step % HALVING == HALVING - 1:
            for group in optimizer.param_groups:
                group["lr"] /= 2
        print(f"{step} {loss.item():.9g}")

    with torch.no_grad():
        right = network(images[train:]).argmax(1) == labels[train:]
    print(f"accuracy {right.float().mean().item():.3f}")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
