"""Federated averaging over a parameter server, with FedAdam. Needs numpy, and no torch.

python federated.py --workers=127.0.0.1:7070

Each client has digits that it doesn't share, and a connection of its own. In a round it takes the
parameters from the workers, trains with its digits, and pushes the change of the parameters.
"""

import argparse
import contextlib
import itertools
from concurrent.futures import ThreadPoolExecutor

import digits
import numpy as np

from updraft.distributed.grpc import Client

CLIENTS, ROUNDS, LOCAL_STEPS, BATCH, RATE = 5, 20, 20, 16, 0.2


def open_optimizer(client):
    """Creates the optimizer, or finds the one that another client has created."""
    groups = [{"params": ["weight", "bias"], "lr": 0.05}]
    return client.optimizer("server", "../federated/fed_adam.upd", groups)


class Participant:
    """A client that trains with its own digits. It could be a process on another machine."""

    def __init__(self, client, seed, images, labels):
        self.client, self.images, self.labels = client, images, labels
        self.random = np.random.default_rng(seed)
        self.optimizer = open_optimizer(client)

    def take_part(self, number):
        """Trains from the workers' parameters. Pushes the change to the context of the round."""
        start = self.client.get(digits.initial_parameters())
        parameters = {name: value.copy() for name, value in start.items()}
        for _ in range(LOCAL_STEPS):
            batch = self.random.choice(len(self.labels), BATCH, replace=False)
            _, gradients = digits.loss_and_gradients(
                parameters, self.images[batch], self.labels[batch]
            )
            for name, gradient in gradients.items():
                parameters[name] -= np.float32(RATE) * gradient
        # The worker sums. The gradient for FedAdam is minus the mean of the changes.
        change = {
            name: (start[name] - parameters[name]) / np.float32(CLIENTS) for name in parameters
        }
        with self.optimizer.context(number) as context:
            context.push(change)


def train(server, workers):
    (images, labels), tests = digits.load()
    parameters = digits.initial_parameters()
    server.put(parameters)
    optimizer = open_optimizer(server)
    # Sorted by label, so that each client has two or three of the ten digits.
    parts = np.array_split(np.argsort(labels, kind="stable"), CLIENTS)
    with contextlib.ExitStack() as stack:
        participants = []
        for number, part in enumerate(parts):
            # The worker sums in the order of clients' names, so that the results don't vary.
            client = stack.enter_context(Client(workers, name=f"client{number}"))
            participants.append(Participant(client, number, images[part], labels[part]))
        threads = stack.enter_context(ThreadPoolExecutor(CLIENTS))
        for number in range(1, ROUNDS + 1):
            with optimizer.context(number) as context:
                # Waits for all of them.
                list(threads.map(Participant.take_part, participants, itertools.repeat(number)))
                optimizer.step(context)
            if number == 1 or number % 5 == 0:
                parameters = server.get(parameters)
                loss, _ = digits.loss_and_gradients(parameters, images, labels)
                print(f"round {number:2}: loss {loss:.3f}")
    print(f"accuracy {digits.accuracy(parameters, *tests):.3f}")


def main():
    parser = argparse.ArgumentParser(description="Learns handwritten digits of several clients.")
    parser.add_argument("--workers", required=True, help="addresses, separated by commas")
    workers = parser.parse_args().workers.split(",")
    with Client(workers, name="server") as server:
        train(server, workers)


if __name__ == "__main__":
    main()
