"""The demo: a small network learns handwritten digits, with AdamW compiled by Updraft.

torch.optim.AdamW trains a copy from the same start on the same batches. Prints how closely the two
agree and their times; writes a plot and the rule's stages as text.
"""

import argparse
import pathlib
import sys

import loss_plot
import timing
import torch
import training
from rich.console import Console
from rich.table import Table

import updraft

ROOT = pathlib.Path(__file__).resolve().parents[2]

# File name suffixes of the stages.
SUFFIXES = {"llvm": "ll", "asm": "s", "ast": "txt", "torch": "py"}

# Training amplifies rounding, so the first steps have a tight tolerance and the rest a loose one.
FIRST_STEPS = 100
FIRST_TOLERANCE = 1e-5
LOSS_TOLERANCE = 1e-2
ACCURACY_TOLERANCE = 0.02


def write_stages(rule, folder):
    """Writes every stage of the rule; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, stage in enumerate(updraft.CompiledRule.STAGES, 1):
        path = folder / f"{number}-{stage}.{SUFFIXES.get(stage, 'mlir')}"
        path.write_text(rule.emit(stage))
        paths.append(path)
    return paths


def print_training(console, result):
    table = Table(title="Training on the digits", title_justify="left")
    table.add_column("")
    table.add_column("Updraft", justify="right")
    table.add_column("torch.optim.AdamW", justify="right")
    table.add_row("loss, first step", f"{result.ours[0]:.6f}", f"{result.theirs[0]:.6f}")
    table.add_row("loss, last epoch", f"{result.our_last:.6f}", f"{result.their_last:.6f}")
    table.add_row("test accuracy", f"{result.our_accuracy:.2%}", f"{result.their_accuracy:.2%}")
    console.print(table)
    first, all_steps = result.difference(FIRST_STEPS), result.difference()
    console.print(
        f"Loss curves over {len(result.ours)} steps: equal to the last bit in the first "
        f"{result.equal_steps}; largest difference {first:.1e} in the first {FIRST_STEPS}, "
        f"{all_steps:.1e} in all"
    )


def print_compile_times(console, times):
    table = Table(title="Compiling rules/adamw.upd", title_justify="left")
    table.add_column("")
    table.add_column("ms", justify="right")
    for name, seconds in times.items():
        table.add_row(name, f"{seconds * 1e3:.1f}")
    console.print(table)


def print_step_times(console, rows):
    table = Table(title="One step of AdamW in a torch optimizer, median ms", title_justify="left")
    table.add_column("parameters")
    table.add_column("Updraft", justify="right")
    table.add_column("torch fused", justify="right")
    table.add_column("torch / Updraft", justify="right")
    for name, ours, theirs in rows:
        table.add_row(name, f"{ours * 1e3:.3f}", f"{theirs * 1e3:.3f}", f"{theirs / ours:.2f}")
    console.print(table)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30, help="default: 30")
    parser.add_argument("--elements", type=int, default=10_000_000, help="of the timed tensor")
    parser.add_argument("--rounds", type=int, default=30, help="of the timings, default: 30")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "demo")
    arguments = parser.parse_args()
    if min(arguments.epochs, arguments.elements, arguments.rounds) < 1:
        parser.error("epochs, elements and rounds are at least 1")
    arguments.out.mkdir(parents=True, exist_ok=True)
    console = Console(width=None if sys.stdout.isatty() else 100)

    rule_file = ROOT / "rules" / "adamw.upd"
    rule = updraft.compile_file(rule_file)
    console.print(
        f"updraft {updraft.__version__}, torch {torch.__version__}, "
        f"{torch.get_num_threads()} threads"
    )
    console.print(f"{rule}, {rule.origin}\n", highlight=False)

    result = training.train(rule, arguments.epochs)
    print_training(console, result)
    console.print()
    print_compile_times(console, timing.compile_times(rule_file, arguments.rounds))
    console.print()
    print_step_times(console, timing.step_times(arguments.elements, arguments.rounds))

    plot = arguments.out / "loss.png"
    loss_plot.write(result, plot)
    stages = write_stages(rule, arguments.out / "ir")
    console.print(f"\nPlot of both loss curves: {plot}", soft_wrap=True, highlight=False)
    console.print(
        f"The rule at each stage: {stages[0].parent}/: " + ", ".join(path.name for path in stages),
        soft_wrap=True,
        highlight=False,
    )

    if result.difference(FIRST_STEPS) > FIRST_TOLERANCE or result.difference() > LOSS_TOLERANCE:
        console.print(
            f"[red]the loss curves differ by more than {FIRST_TOLERANCE} in the first "
            f"{FIRST_STEPS} steps, or by more than {LOSS_TOLERANCE} in all"
        )
        return 1
    if abs(result.our_accuracy - result.their_accuracy) > ACCURACY_TOLERANCE:
        console.print(f"[red]the accuracies differ by more than {ACCURACY_TOLERANCE:.0%}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
