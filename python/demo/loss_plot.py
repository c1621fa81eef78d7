"""The plot of both loss curves and of their difference."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy


def write(result, path):
    """Draws the losses above, their absolute difference below."""
    steps = numpy.arange(1, len(result.ours) + 1)
    figure, (losses, difference) = plt.subplots(
        2, 1, sharex=True, figsize=(8, 5.5), height_ratios=(3, 1), layout="constrained"
    )
    losses.semilogy(steps, result.theirs, color="0.7", linewidth=3, label="torch.optim.AdamW")
    losses.semilogy(steps, result.ours, color="#1f5fa8", linewidth=0.9, label="Updraft, adamw.upd")
    losses.set_ylabel("cross entropy")
    losses.set_title("Digits: loss per step, same start, same batches", loc="left")
    losses.legend(frameon=False)

    apart = numpy.abs(result.ours - result.theirs)
    difference.semilogy(steps, apart, color="#1f5fa8", linewidth=0.9)
    difference.set_ylabel("|difference|")
    difference.set_xlabel("step")
    for axes in (losses, difference):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
