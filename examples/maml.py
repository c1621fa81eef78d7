"""Model-agnostic meta-learning, with the tasks of a batch on all workers.

    torchrun --nproc-per-node=2 examples/maml.py

A task is to tell five digits apart after one image of each, under labels that are drawn anew. The
network starts every task from the same parameters and takes a few steps of gradient descent; those
parameters are learned, by gradients through the steps. The images come with scikit-learn; those of
the tasks for the test are not among those of the tasks for training.
"""

import argparse
import time

import torch

import updraft
from updraft import distributed, optim

WAYS = 5
SHOTS = 1
QUERIES = 10
INNER_STEPS = 3
INNER_RATE = 0.4


class Digits:
    """Tasks made of a part of the images of digits.

    Args:
        part: which images: those from the first to the second fraction of each digit's.
        generator: where chance comes from.
    """

    def __init__(self, part: tuple[float, float], generator: torch.Generator) -> None:
        from sklearn.datasets import load_digits  # type: ignore

        data = load_digits()
        images = torch.tensor(data.data, dtype=torch.float32) / 16
        labels = torch.tensor(data.target)
        self.images = []
        for digit in range(10):
            found = images[labels == digit]
            first, last = (int(fraction * len(found)) for fraction in part)
            self.images.append(found[first:last])
        self.generator = generator

    def tasks(self, count: int) -> torch.Tensor:
        """Returns `(count, WAYS, SHOTS + QUERIES, 64)`: images of each task, by their labels."""
        return torch.stack(
            [
                torch.stack([self._drawn(digit) for digit in self._permutation(10)[:WAYS]])
                for _ in range(count)
            ]
        )

    def _drawn(self, digit: int) -> torch.Tensor:
        images = self.images[digit]
        return images[self._permutation(len(images))[: SHOTS + QUERIES]]

    def _permutation(self, size: int) -> list[int]:
        order: list[int] = torch.randperm(size, generator=self.generator).tolist()
        return order


def network() -> torch.nn.Module:
    """Returns the network; its parameters are those that every task starts from."""
    return torch.nn.Sequential(torch.nn.Linear(64, 40), torch.nn.ReLU(), torch.nn.Linear(40, WAYS))


def _labelled(images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return images.flatten(0, 1), torch.arange(WAYS).repeat_interleave(images.shape[1])


def adapted(model: torch.nn.Module, task: torch.Tensor) -> updraft.MetaOptimizer:
    """Returns the network after its steps on the first images of a task."""
    images, labels = _labelled(task[:, :SHOTS])
    inner = updraft.MetaOptimizer(model, "SGD", lr=INNER_RATE)
    for _ in range(INNER_STEPS):
        inner.step(torch.nn.functional.cross_entropy(inner(images), labels))
    return inner


def task_loss(model: torch.nn.Module, task: torch.Tensor) -> torch.Tensor:
    """Returns the loss on a task's other images, after the steps."""
    images, labels = _labelled(task[:, SHOTS:])
    return torch.nn.functional.cross_entropy(adapted(model, task)(images), labels)


@distributed.parallelize(
    partitioner=distributed.dim_partitioner(0, exclusive=True, keepdim=False),
    reducer=distributed.mean_reducer,
)
def outer_loss(model: torch.nn.Module, task: torch.Tensor) -> torch.Tensor:
    """Called with a batch of tasks, returns the mean loss; one part of the work has one task."""
    return task_loss(model, task)


def outer_gradients(model: torch.nn.Module, tasks: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Returns the loss, and its gradient for each parameter, by the work of all workers."""
    with distributed.autograd.context() as context_id:
        loss = outer_loss(distributed.module_clone(model, by="clone"), tasks)
        gradients = distributed.autograd.grad(context_id, loss, model.parameters())
    return loss.detach(), *gradients


def gradients_here(model: torch.nn.Module, tasks: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Returns the same, by the work of this process alone."""
    loss = torch.stack([task_loss(model, task) for task in tasks]).mean()
    return loss.detach(), *torch.autograd.grad(loss, [*model.parameters()])


def accuracy(model: torch.nn.Module, tasks: torch.Tensor) -> float:
    """Returns which part of the tasks' other images is told right, after the steps on each."""
    right = []
    for task in tasks:
        images, labels = _labelled(task[:, SHOTS:])
        right.append((adapted(model, task)(images).argmax(dim=1) == labels).float().mean())
    return torch.stack(right).mean().item()


@distributed.rank_zero_only
def train(arguments: argparse.Namespace) -> None:
    """Trains, calling the other workers, and prints how well new tasks are learned."""
    generator = torch.Generator().manual_seed(arguments.seed)
    torch.manual_seed(arguments.seed)
    training, test = Digits((0, 0.7), generator), Digits((0.7, 1), generator)
    unseen = test.tasks(60)
    model = network()
    if arguments.check:
        tasks = training.tasks(arguments.tasks)
        pairs = zip(outer_gradients(model, tasks), gradients_here(model, tasks), strict=True)
        largest = max((ours - theirs).abs().max().item() for ours, theirs in pairs)
        print(f"largest difference from gradients of one process: {largest:.1e}")
    learned = f"right after {INNER_STEPS} steps on {SHOTS * WAYS} images"
    print(f"new tasks, untrained: {accuracy(model, unseen):.1%} {learned}")
    optimizer = optim.AdamW(model.parameters(), lr=arguments.lr)
    start = time.perf_counter()
    for step in range(1, arguments.steps + 1):
        optimizer.zero_grad()
        with distributed.autograd.context() as context_id:
            loss = outer_loss(
                distributed.module_clone(model, by="clone"), training.tasks(arguments.tasks)
            )
            distributed.autograd.backward(context_id, loss)
        optimizer.step()
        if step % arguments.log_interval == 0 or step == arguments.steps:
            rate = step / (time.perf_counter() - start)
            print(f"step {step}: loss {loss.item():.3f}, {rate:.1f} steps per second", flush=True)
    print(f"new tasks, trained: {accuracy(model, unseen):.1%} {learned}")


def initialize() -> None:
    """Makes each worker compute with one thread, as there is one worker for each core."""
    torch.set_num_threads(1)


@distributed.auto_init_rpc(initialize)
def main() -> None:
    """Reads the command line; worker 0 trains, and the others wait for its calls."""
    parser = argparse.ArgumentParser(
        description="Meta-learning of telling digits apart, on all workers that torchrun starts.",
    )
    parser.add_argument("--steps", type=int, default=200, help="steps of the outer optimizer")
    parser.add_argument("--tasks", type=int, default=8, help="tasks for each of them")
    parser.add_argument("--lr", type=float, default=1e-2, help="its learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log-interval", type=int, default=50, metavar="STEPS")
    parser.add_argument(
        "--check",
        action="store_true",
        help="first compares the gradients with those that one process computes",
    )
    train(parser.parse_args())


if __name__ == "__main__":
    main()
