"""Learns handwritten digits on parameter servers. Needs numpy, and no torch.

python trainer.py --workers=127.0.0.1:7070,127.0.0.1:7071
"""

import argparse
import math

import digits
import numpy as np

from updraft.distributed.grpc import Client

RATE, BATCH, STEPS, WARMUP = 2e-2, 64, 200, 20


def scale_of(step):
    """Scales the learning rate: it rises for some steps, then falls as half a cosine."""
    if step < WARMUP:
        return (step + 1) / WARMUP
    return (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) / 2


def train(client):
    (images, labels), tests = digits.load()
    parameters = digits.initial_parameters()
    client.put(parameters)
    groups = [
        {"params": ["weight"], "lr": RATE},
        {"params": ["bias"], "lr": 2 * RATE, "weight_decay": 0.0},
    ]
    optimizer = client.optimizer("adamw", "AdamW", groups)
    rates = [group["lr"] for group in optimizer.param_groups]

    random = np.random.default_rng(1)
    for step in range(STEPS):
        # A step sends the workers the rates that have changed.
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * scale_of(step)
        batch = random.choice(len(labels), BATCH, replace=False)
        loss, gradients = digits.loss_and_gradients(parameters, images[batch], labels[batch])
        with optimizer.context() as context:
            context.push(gradients)
            optimizer.step(context)
        parameters = client.get(parameters)
        if step % 50 == 0:
            print(f"step {step:3}: lr {optimizer.param_groups[0]['lr']:.4f}, loss {loss:.3f}")
    print(f"accuracy {digits.accuracy(parameters, *tests):.3f}")


def main():
    parser = argparse.ArgumentParser(description="Learns handwritten digits.")
    parser.add_argument("--workers", required=True, help="addresses, separated by commas")
    with Client(parser.parse_args().workers.split(",")) as client:
        train(client)


if __name__ == "__main__":
    main()
