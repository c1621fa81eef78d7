"""Digits learned by trainers that share parameters, which lie on one server or two.

    torchrun --nproc-per-node=4 examples/parameter_server.py

Each trainer has a part of the images and goes its own pace: a forward through the servers, a
backward, and a step of the parameters where they are. On the servers no Python runs in any of
these. The images come with scikit-learn.
"""

import argparse
import contextlib
import functools
import io
import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed.autograd as dist_autograd
from torch.distributed import rpc
from torch.nn.functional import cross_entropy

from updraft import distributed
from updraft.distributed.optim import DistributedOptimizer, Options

SIZES = (64, 128, 128, 10)
# The number of steps between two reports of a trainer.
REPORT_INTERVAL = 10


@functools.cache
def digits(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns images and labels, in an order that chance has made."""
    from sklearn.datasets import load_digits  # type: ignore

    data = load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(seed))
    images = torch.tensor(data.data, dtype=torch.float32) / 16
    return images[order], torch.tensor(data.target)[order]


@dataclass(frozen=True)
class Layer:
    """A linear layer on a server."""

    server: str
    weight: Any
    bias: Any


def layers_on(servers: list[str], seed: int) -> list[Layer]:
    """Returns the layers, distributed over the servers in turn. The first caller creates them."""
    torch.manual_seed(seed)
    layers = []
    for number, sizes in enumerate(itertools.pairwise(SIZES)):
        server = servers[number % len(servers)]
        weight, bias = (
            distributed.hold_parameter(server, f"layer{number}.{name}", value)
            for name, value in torch.nn.Linear(*sizes).named_parameters()
        )
        layers.append(Layer(server, weight, bias))
    return layers


def outputs(layers: list[Layer], images: torch.Tensor) -> torch.Tensor:
    """Returns what the network says, by the work of the servers."""
    for number, layer in enumerate(layers):
        if number:
            images = images.relu()
        [images] = distributed.remote_sync_call(
            "linear", args=(images, layer.weight, layer.bias), partitioner=layer.server
        )
    return images


class Trainer:
    """Trains with a part of the images.

    Args:
        arguments: those of the command line.
        number: which of the trainers this is.
        trainers: how many there are.
    """

    def __init__(self, arguments: argparse.Namespace, number: int, trainers: int) -> None:
        self.arguments = arguments
        images, labels = digits(arguments.seed)
        training = slice(number, int(len(labels) * 0.8), trainers)
        self.images, self.labels = images[training], labels[training]
        self.generator = torch.Generator().manual_seed(arguments.seed + number)
        self.layers = layers_on(servers_of(arguments), arguments.seed)
        self.optimizer = DistributedOptimizer(
            getattr(torch.optim, arguments.optimizer),
            [rref for layer in self.layers for rref in (layer.weight, layer.bias)],
            lr=arguments.lr,
            options=Options(concurrency=arguments.concurrency),
        )
        #: How many batches were done again, since another trainer stepped what they had read.
        self.repeated = 0

    def batches(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for _ in range(self.arguments.epochs):
            order = torch.randperm(len(self.labels), generator=self.generator)
            for some in order.split(self.arguments.batch):
                yield self.images[some], self.labels[some]

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> float:
        """Takes a step, and returns the loss before it."""
        while True:
            with dist_autograd.context() as context:
                loss = cross_entropy(outputs(self.layers, images), labels)
                try:
                    dist_autograd.backward(context, [loss])
                except RuntimeError as error:
                    # Mode "checked": another step changed the weights meanwhile. Try again.
                    if "modified by an inplace operation" not in str(error):
                        raise
                    self.repeated += 1
                    continue
                self.optimizer.step(context)
                return loss.item()


@dataclass(frozen=True)
class Report:
    """The result of one trainer."""

    steps: int
    seconds: float
    repeated: int


def train(arguments: argparse.Namespace, number: int, trainers: int) -> Report:
    """The work of one trainer, who tells the first one now and then how far it is."""
    trainer = Trainer(arguments, number, trainers)
    start, steps = time.perf_counter(), 0
    for images, labels in trainer.batches():
        loss = trainer.step(images, labels)
        steps += 1
        if steps % REPORT_INTERVAL == 0:
            rpc.rpc_async("trainer0", show, args=(number, steps, loss))
    return Report(steps, time.perf_counter() - start, trainer.repeated)


class Display:
    """Shows on a terminal how far each trainer is, if there is `rich`; else prints a few lines."""

    def __init__(self, arguments: argparse.Namespace, trainers: int) -> None:
        self.bars: Any = None
        self.interval = arguments.log_interval
        if sys.stdout.isatty():
            with contextlib.suppress(ImportError):
                from rich.progress import Progress

                self.bars = Progress()
                for number in range(trainers):
                    self.bars.add_task(f"trainer{number}", total=steps_of(arguments, number))

    def __enter__(self) -> "Display":
        if self.bars is not None:
            self.bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bars is not None:
            for task in self.bars.tasks:
                self.bars.update(task.id, completed=task.total)
            self.bars.stop()

    def show(self, number: int, steps: int, loss: float) -> None:
        if self.bars is not None:
            text = f"trainer{number}, loss {loss:.3f}"
            self.bars.update(self.bars.task_ids[number], completed=steps, description=text)
        elif number == 0 and steps % self.interval == 0:
            print(f"trainer0, step {steps}: loss {loss:.3f}", flush=True)


def steps_of(arguments: argparse.Namespace, number: int) -> int:
    """How many steps a trainer takes."""
    images = len(range(number, int(len(digits(arguments.seed)[1]) * 0.8), trainers_of(arguments)))
    return arguments.epochs * -(-images // arguments.batch)


_display: Display | None = None


def show(number: int, steps: int, loss: float) -> None:
    """Called on the first trainer."""
    if _display is not None:
        _display.show(number, steps, loss)


def servers_of(arguments: argparse.Namespace) -> list[str]:
    return [f"server{number}" for number in range(arguments.servers)]


def trainers_of(arguments: argparse.Namespace) -> int:
    return distributed.get_world_size() - arguments.servers


def print_quality(when: str, layers: list[Layer], seed: int) -> None:
    """Prints how the network does with images that no trainer has."""
    images, labels = digits(seed)
    test = slice(int(len(labels) * 0.8), None)
    with torch.no_grad():
        found = outputs(layers, images[test])
    loss = cross_entropy(found, labels[test])
    right = (found.argmax(dim=1) == labels[test]).float().mean()
    print(f"{when}: loss {loss:.3f}, {right:.1%} of new images right", flush=True)


@distributed.rank_zero_only
def lead(arguments: argparse.Namespace) -> None:
    """Has all trainers train, and prints what has come of it."""
    global _display
    trainers, servers = trainers_of(arguments), servers_of(arguments)
    layers = layers_on(servers, arguments.seed)
    print_quality("untrained", layers, arguments.seed)
    with Display(arguments, trainers) as _display:
        reports: list[Report] = distributed.remote_sync_call(
            train,
            partitioner=lambda: [
                (number, (arguments, number, trainers), {}) for number in range(trainers)
            ],
            # As long as it takes.
            timeout=0,
        )
    print_quality("trained", layers, arguments.seed)
    steps, seconds = sum(one.steps for one in reports), max(one.seconds for one in reports)
    print(
        f"{steps} steps of {trainers} trainers in {seconds:.2f} s: "
        f"{steps / seconds:.0f} steps per second"
    )
    waited = sum(distributed.lock_wait(server) for server in servers)
    share = waited / sum(one.seconds for one in reports)
    print(f"waiting for locks: {waited * 1e3:.3f} ms, {share:.3%} of the trainers' time")
    if arguments.concurrency == "checked":
        print(f"batches done again: {sum(one.repeated for one in reports)}")


def name_of(servers: int) -> Any:
    """Makes names for workers: the last ones are the servers."""

    def name(*, world_rank: int, world_size: int, **_: int) -> str:
        trainers = world_size - servers
        if world_rank < trainers:
            return f"trainer{world_rank}"
        return f"server{world_rank - trainers}"

    return name


def initialize() -> None:
    """Makes each worker compute with one thread, as there is one worker for each core."""
    torch.set_num_threads(1)


def parsed() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description="Trainers that share the parameters of servers, in all workers that torchrun "
        "starts: the last are the servers.",
    )
    parser.add_argument("--servers", type=int, default=1, help="how many workers hold parameters")
    parser.add_argument("--epochs", type=int, default=20, help="how often each image is seen")
    parser.add_argument("--batch", type=int, default=16, help="images for each step")
    parser.add_argument("--optimizer", default="AdamW", help="a class of `torch.optim`")
    parser.add_argument("--lr", type=float, default=2e-3, help="its learning rate")
    parser.add_argument(
        "--concurrency",
        choices=["hogwild", "checked"],
        default="hogwild",
        help="whether a backward may read what another trainer has stepped; if not, the batch is "
        "done again, and with torch 2.15 the end fails (docs/distributed.md says why)",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--log-interval",
        type=int,
        default=50,
        metavar="STEPS",
        help="how often the first trainer prints its loss where there is no terminal",
    )
    # All workers read the same, and one says so.
    quiet = contextlib.nullcontext() if distributed.get_rank() == 0 else silence()
    with quiet:
        arguments = parser.parse_args()
        if not 1 <= arguments.servers < distributed.get_world_size():
            parser.error(
                f"there are {arguments.servers} servers in a world of "
                f"{distributed.get_world_size()}; at least one, and one trainer, start by "
                "`torchrun --nproc-per-node=4`"
            )
        if not issubclass(getattr(torch.optim, arguments.optimizer, int), torch.optim.Optimizer):
            parser.error(f"torch.optim has no optimizer `{arguments.optimizer}`")
    return arguments


@contextlib.contextmanager
def silence() -> Iterator[None]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def main() -> None:
    """Has RPC run; the first worker leads, and the others wait for calls."""
    arguments = parsed()
    # One for each call that a server may have at once, and two more.
    threads = distributed.get_world_size() + 2
    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=threads)
    launch = distributed.auto_init_rpc(
        initialize, name_of(arguments.servers), rpc_backend_options=options
    )
    launch(lead)(arguments)


if __name__ == "__main__":
    main()
