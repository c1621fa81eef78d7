"""Trains the digits network with every rule, and compares with PyTorch or the rule's paper.

Both sides start from the same weights and see the same batches. Writes the accuracies on the test
digits as JSON, as a Markdown table and as a plot; see docs/convergence.md.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import sys

import convergence_plot
import numpy
import torch
import training
from convergence_works import WORKS, published

import updraft

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Mean over the seeds; one digit of the test set is 0.28 points.
TOLERANCE = 0.5
HESSIAN_EVERY = 10
# The hyperparameter that weighs the average in the point where gradients are taken.
WEIGHT_OF_AVERAGE = {
    "schedule_free_sgd": "momentum",
    "schedule_free_adamw": "beta1",
    "gpa_adamw": "train_interp_coeff",
}


@dataclasses.dataclass
class Side:
    """A network and its optimizer: an Updraft optimizer, or a torch one."""

    network: torch.nn.Module
    optimizer: object
    states: object  # the parameter's number → its states by name
    # The tensors that the optimizer steps: the network's parameters, or copies of them.
    stored: list = dataclasses.field(default_factory=list)

    @property
    def params(self):
        return list(self.network.parameters())


def our_side(work, seed):
    rule = updraft.compile_file(
        ROOT / "rules" / f"{work.rule}.upd", defaults=work.settings, storage=work.storage
    )
    network = training.make_network(seed)
    stored = list(network.parameters())
    if "param" in work.storage:
        stored = [param.detach().to(torch.bfloat16) for param in stored]
    optimizer = updraft.ArrayOptimizer(rule, stored)
    side = Side(network, optimizer, optimizer.state, stored)
    copy_stored(side)
    return side


def copy_stored(side):
    """Copies the stored parameters to the network, which computes in f32."""
    for param, stored in zip(side.params, side.stored, strict=True):
        if stored is not param:
            param.data.copy_(stored)


def their_side(work, seed):
    network = training.make_network(seed)
    params = list(network.parameters())
    optimizer = work.counterpart(params)
    return Side(network, optimizer, lambda index: optimizer.state[params[index]])


def step(side):
    if isinstance(side.optimizer, updraft.ArrayOptimizer):
        pairs = zip(side.params, side.stored, strict=True)
        side.optimizer.step([param.grad.to(stored.dtype) for param, stored in pairs])
        copy_stored(side)
    else:
        side.optimizer.step()


def estimate_hessian(side, images, generator, decay=0.99):
    """Moves `hessian` to the Gauss-Newton-Bartlett estimate, with gradients for labels drawn from
    the network's own predictions.
    """
    probabilities = torch.softmax(side.network(images), 1)
    labels = torch.multinomial(probabilities.detach(), 1, generator=generator).squeeze(1)
    training.backward(side.network, images, labels)
    for index, param in enumerate(side.params):
        states = side.states(index)
        estimate = len(images) * param.grad**2
        hessian = torch.as_tensor(states["hessian"])
        hessian.mul_(decay).add_(estimate, alpha=1 - decay)


def use_average(side, work):
    """Sets the parameters to the averages, if the rule evaluates with averages."""
    for index, param in enumerate(side.params):
        states = side.states(index)
        for name in ("ax", "x"):
            if name in states:
                param.data.copy_(torch.as_tensor(states[name]))
        if "z" in states and "x" not in states:
            settings = published.OPTIMIZERS[work.rule].defaults_of_rule | work.settings
            weight = settings[WEIGHT_OF_AVERAGE[work.rule]]
            z = torch.as_tensor(states["z"])
            param.data.add_((z - param.data) * (1 - 1 / weight))


def train(work, side, data, epochs, seed):
    """Returns the loss of every step, and the accuracy in percent."""
    images, labels, test_images, test_labels = data
    losses = []
    generator = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for batch in torch.randperm(len(images), generator=generator).split(training.BATCH):
            if losses and len(losses) % HESSIAN_EVERY == 1 and "hessian" in side.states(0):
                estimate_hessian(side, images[batch], torch.Generator().manual_seed(len(losses)))
            losses.append(training.backward(side.network, images[batch], labels[batch]))
            step(side)
    use_average(side, work)
    return losses, 100 * training.accuracy(side.network, test_images, test_labels)


def compare(work, data, epochs, seeds):
    """Trains both sides with every seed; returns a row of the results."""
    ours, theirs, difference = [], [], 0.0
    for seed in range(1, seeds + 1):
        our_losses, our_accuracy = train(work, our_side(work, seed), data, epochs, seed)
        their_losses, their_accuracy = train(work, their_side(work, seed), data, epochs, seed)
        ours.append(our_accuracy)
        theirs.append(their_accuracy)
        first = slice(0, 45)  # an epoch: later, training has amplified every rounding
        apart = numpy.abs(numpy.array(our_losses[first]) - numpy.array(their_losses[first]))
        difference = float(numpy.maximum(difference, apart.max()))  # NaN if a loss is
    optimizer = type(work.counterpart([torch.nn.Parameter(torch.zeros(1))]))
    origin = "paper" if issubclass(optimizer, published.base.Published) else "torch.optim"
    return {
        "name": work.name,
        "rule": work.rule,
        "settings": work.settings,
        "storage": work.storage,
        "counterpart": f"{origin}.{optimizer.__name__}" if origin != "paper" else "its paper",
        "accuracy": statistics.mean(ours),
        "counterpart_accuracy": statistics.mean(theirs),
        "first_epoch_loss_difference": difference,
    }


def markdown(rows):
    lines = [
        "| rule | settings | beside | Updraft | counterpart |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        settings = ", ".join(f"{name} {value:g}" for name, value in row["settings"].items())
        lines.append(
            f"| {row['name']} | {settings} | {row['counterpart']} | {row['accuracy']:.2f} | "
            f"{row['counterpart_accuracy']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=15, help="default: 15")
    parser.add_argument("--seeds", type=int, default=3, help="trainings per rule, default: 3")
    parser.add_argument(
        "--tolerance", type=float, default=TOLERANCE, help=f"in points, default: {TOLERANCE}"
    )
    parser.add_argument("--rules", default="", help="only these; rows of others stay")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "convergence")
    arguments = parser.parse_args()
    if min(arguments.epochs, arguments.seeds) < 1:
        parser.error("epochs and seeds are at least 1")
    chosen = arguments.rules.split(",") if arguments.rules else [work.rule for work in WORKS]
    unknown = set(chosen) - {work.rule for work in WORKS}
    if unknown:
        parser.error(f"there is no rule {', '.join(sorted(unknown))}")
    arguments.out.mkdir(parents=True, exist_ok=True)

    torch.set_num_threads(1)  # the network is too small for more
    data = training.load_digits()
    file = arguments.out / "convergence.json"
    known = {row["name"]: row for row in json.loads(file.read_text())} if file.exists() else {}
    rows = []
    for work in WORKS:
        if work.rule in chosen:
            row = compare(work, data, arguments.epochs, arguments.seeds)
            rows.append(row)
            print(
                f"{row['name']:<24} {row['accuracy']:6.2f} % "
                f"{row['counterpart_accuracy']:6.2f} % ({row['counterpart']}), losses of the first "
                f"epoch apart by {row['first_epoch_loss_difference']:.1e}",
                flush=True,
            )
        elif work.name in known:
            rows.append(known[work.name])
    file.write_text(json.dumps(rows, indent=1) + "\n")
    (arguments.out / "convergence.md").write_text(markdown(rows))
    convergence_plot.write(rows, arguments.out / "convergence.svg")
    print(f"results: {arguments.out}/convergence.json, .md and .svg")

    worse = [
        row["name"]
        for row in rows
        if row["accuracy"] < row["counterpart_accuracy"] - arguments.tolerance
    ]
    if worse:
        print(f"less accurate by more than {arguments.tolerance} points: {', '.join(worse)}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
