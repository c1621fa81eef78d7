"""The plot of the accuracies: a line per rule, a ring for its counterpart, a dot for Updraft."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt


def write(rows, path):
    rows = sorted(rows, key=lambda row: row["counterpart_accuracy"])
    lines = range(len(rows))
    plt.rcParams["svg.fonttype"] = "none"
    plt.rcParams["svg.hashsalt"] = "convergence"
    figure, axes = plt.subplots(figsize=(7, 1.2 + 0.24 * len(rows)), layout="constrained")
    axes.hlines(
        lines,
        [min(row["accuracy"], row["counterpart_accuracy"]) for row in rows],
        [max(row["accuracy"], row["counterpart_accuracy"]) for row in rows],
        color="0.7",
    )
    axes.plot(
        [row["counterpart_accuracy"] for row in rows],
        lines,
        "o",
        markersize=9,
        markerfacecolor="none",
        markeredgecolor="0.5",
        label="PyTorch's optimizer, or the paper's algorithm",
    )
    axes.plot(
        [row["accuracy"] for row in rows],
        lines,
        "o",
        markersize=4,
        color="#1f5fa8",
        label="Updraft",
    )
    axes.set_yticks(lines, [row["name"] for row in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel("accuracy on the test digits, %")
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper left", frameon=False, ncols=2)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
