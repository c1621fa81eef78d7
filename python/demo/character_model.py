"""Trains a small language model with several optimizers, and compares their losses.

The text is made here: sentences of a small grammar, from a seed. Every optimizer first chooses its
learning rate by a short search with a seed of its own, then trains from each of the other seeds.
Writes the losses on unseen text as JSON, as a Markdown table and as a plot; see
docs/convergence.md.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import statistics

import matplotlib
import torch
from torch import nn

import updraft
import updraft.optim

matplotlib.use("Agg")

ROOT = pathlib.Path(__file__).resolve().parents[2]
WIDTH, HEADS, LAYERS, CONTEXT, BATCH = 64, 4, 2, 64, 16
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
#: The options by rule, or None for one rule. The scales of updates are those of AdamW, so that both
#: rules have the same learning rate.
OPTIMIZERS = {
    "AdamW": None,
    "Muon + AdamW": {"Muon": {"adjust_lr_fn": "match_rms_adamw"}},
    "NorMuon + AdamW": {"NorMuon": {"adjust_lr": "rms_norm"}},
    "SOAP": None,
}

NOUNS = [
    "rule",
    "step",
    "tensor",
    "matrix",
    "gradient",
    "kernel",
    "worker",
    "state",
    "thread",
    "sweep",
]
ADJECTIVES = ["fast", "small", "exact", "fused", "sparse", "wide", "tall", "late"]
VERBS = ["reads", "writes", "updates", "scales", "multiplies", "waits-for", "orders", "checks"]
LINKS = ["and", "but", "so", "because", "while"]


def sentence(choose):
    """Returns a sentence: one or two clauses, whose subjects agree with their endings."""

    def noun_phrase():
        adjective = f"{choose(ADJECTIVES)} " if choose(range(3)) == 0 else ""
        return f"the {adjective}{choose(NOUNS)}"

    def clause():
        number = choose(range(2, 40))
        end = f" {number} times, {number + 1} in all" if choose(range(4)) == 0 else ""
        return f"{noun_phrase()} {choose(VERBS)} {noun_phrase()}{end}"

    first = clause()
    text = f"{first} {choose(LINKS)} {clause()}" if choose(range(2)) else first
    return text.capitalize() + ". "


def make_text(size, seed):
    """Returns text of at least `size` characters, the same for the same seed."""
    generator = random.Random(seed)
    parts, length = [], 0
    while length < size:
        parts.append(sentence(lambda options: options[generator.randrange(len(options))]))
        length += len(parts[-1])
    return "".join(parts)


class Block(nn.Module):
    """Attention and a perceptron, each after a normalization."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.qkv(self.norms[0](x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(nn.functional.gelu(self.up(self.norms[1](x))))


class Model(nn.Module):
    """A transformer that predicts the next character."""

    def __init__(self, characters):
        super().__init__()
        self.characters = nn.Embedding(characters, WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters, bias=False)

    def forward(self, ids):
        x = self.characters(ids) + self.positions.weight[: ids.shape[1]]
        return self.head(self.norm(self.blocks(x)))


class Text:
    """Text as numbers, cut into training and unseen parts."""

    def __init__(self, size=200_000):
        text = make_text(size, seed=1)
        characters = sorted(set(text))
        numbers = {character: number for number, character in enumerate(characters)}
        ids = torch.tensor([numbers[character] for character in text])
        cut = len(ids) * 9 // 10
        self.characters = len(characters)
        self.training, self.unseen = ids[:cut], ids[cut:]

    def batch(self, ids, generator, size=BATCH):
        """Returns sequences from random places, and their next characters."""
        starts = torch.randint(len(ids) - CONTEXT - 1, (size,), generator=generator)
        rows = torch.stack([ids[start : start + CONTEXT + 1] for start in starts.tolist()])
        return rows[:, :-1], rows[:, 1:]


def optimizer_for(name, model, rate):
    options = OPTIMIZERS[name]
    if options is None:
        return updraft.optimizer(name, model.parameters(), lr=rate, numerics="ieee")
    return updraft.optim.for_model(model, name, options=options, lr=rate, verbose=False)


def loss_of(model, batch):
    ids, following = batch
    return nn.functional.cross_entropy(model(ids).flatten(0, 1), following.flatten())


def train(name, text, rate, steps, seed):
    """Returns the losses on unseen text after each tenth of the training."""
    torch.manual_seed(seed)
    model = Model(text.characters)
    optimizer = optimizer_for(name, model, rate)
    # A short warm-up, then a linear decay to 0.
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / 20, (steps - step) / steps)
    )
    generator = torch.Generator().manual_seed(seed)
    unseen = text.batch(text.unseen, torch.Generator().manual_seed(0), size=128)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss_of(model, text.batch(text.training, generator)).backward()
        optimizer.step()
        schedule.step()
        if (step + 1) % max(steps // 10, 1) == 0:
            with torch.no_grad():
                losses.append(loss_of(model, unseen).item())
    return losses


@dataclasses.dataclass
class Result:
    """The trainings of an optimizer with its best learning rate."""

    name: str
    rate: float
    losses: list  # for each seed, after each tenth of the steps

    @property
    def last(self):
        return [losses[-1] for losses in self.losses]


def compare(names, steps, seeds):
    """Trains with each optimizer; shows progress."""
    text = Text()
    for name in names:
        found = {rate: train(name, text, rate, steps, seed=0)[-1] for rate in RATES}
        rate = min(found, key=found.get)
        losses = [train(name, text, rate, steps, seed) for seed in range(1, seeds + 1)]
        result = Result(name, rate, losses)
        print(row(result), flush=True)
        yield result


def row(result):
    mean, spread = statistics.mean(result.last), max(result.last) - min(result.last)
    return f"| {result.name} | {result.rate:g} | {mean:.4f} | {spread:.4f} |"


def table(results):
    head = "| optimizer | learning rate | loss | spread |\n|---|---|---|---|\n"
    return head + "".join(row(result) + "\n" for result in results)


def plot(results, steps, path):
    """Draws the mean loss over the seeds, and the range."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.fonttype"] = "none"
    plt.rcParams["svg.hashsalt"] = "character_model"
    figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    for result in results:
        columns = list(zip(*result.losses, strict=True))
        places = [(tenth + 1) * max(steps // 10, 1) for tenth in range(len(columns))]
        (line,) = axes.plot(places, list(map(statistics.mean, columns)), label=result.name)
        axes.fill_between(
            places,
            list(map(min, columns)),
            list(map(max, columns)),
            color=line.get_color(),
            alpha=0.2,
        )
    axes.set_xlabel("step")
    axes.set_ylabel("cross entropy, nats per character")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        epilog="example: character_model.py --optimizers 'AdamW,Muon + AdamW' --steps 200",
    )
    parser.add_argument(
        "--optimizers",
        default=",".join(OPTIMIZERS),
        help="names, separated by commas (default: all)",
    )
    parser.add_argument(
        "--steps", type=int, default=600, help="steps of each training (default: 600)"
    )
    parser.add_argument("--seeds", type=int, default=5, help="trainings to compare (default: 5)")
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=ROOT / "build" / "convergence",
        help="the folder for the results (default: build/convergence)",
    )
    given = parser.parse_args()
    names = given.optimizers.split(",")
    for name in names:
        if name not in OPTIMIZERS:
            parser.error(f"unknown optimizer {name}; there are {', '.join(OPTIMIZERS)}")
    if given.steps < 1 or given.seeds < 1:
        parser.error("--steps and --seeds must be at least 1")
    # The matrices are small: threads would mostly wait for each other.
    torch.set_num_threads(1)
    results = list(compare(names, given.steps, given.seeds))
    given.out.mkdir(parents=True, exist_ok=True)
    rows = [dataclasses.asdict(result) for result in results]
    (given.out / "character_model.json").write_text(json.dumps(rows, indent=2) + "\n")
    (given.out / "character_model.md").write_text(table(results))
    plot(results, given.steps, given.out / "character_model.svg")


if __name__ == "__main__":
    main()
