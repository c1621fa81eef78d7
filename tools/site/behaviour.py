"""Plots of a rule's update for four kinds of gradients, beside AdamW's, as SVG."""

import functools
import io
import re

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt
import numpy

import updraft

STEPS = 60
SHAPE = (8, 8)
# The colours that the style sheet of the site replaces, for light and dark pages.
COLORS = {
    "#010101": "var(--plot-rule)",
    "#020202": "var(--plot-peer)",
    "#030303": "var(--plot-axis)",
}
RULE, PEER, AXIS = COLORS


def gradients() -> dict[str, numpy.ndarray]:
    """The gradients of each kind: [steps, rows, columns]."""
    random = numpy.random.default_rng(1)
    base = random.normal(size=SHAPE)
    base[0, 0] = 1
    constant = numpy.ones((STEPS, 1, 1)) * base
    noise = random.normal(size=(STEPS, *SHAPE))
    step = numpy.arange(STEPS).reshape(-1, 1, 1)
    kinds = {
        "constant": constant,
        "noisy": constant + 2 * noise,
        "spiking": numpy.where(step % 20 == 14, 20, 1) * constant,
        "sparse": numpy.where(step % 10 == 4, 1, 0) * constant,
    }
    return {kind: values.astype("float32") for kind, values in kinds.items()}


@functools.cache
def updates(name: str) -> dict[str, numpy.ndarray]:
    """How far each step moves an element against a positive gradient, in learning rates."""
    rule = updraft.load(name)
    compiled = rule.compile()
    rate = rule.hypers["lr"]
    result = {}
    for kind, values in gradients().items():
        param = numpy.random.default_rng(2).normal(size=SHAPE).astype("float32") / 2
        optimizer = updraft.ArrayOptimizer(compiled, [param])
        moves = []
        for grad in values:
            before = float(param[0, 0])
            optimizer.step([grad])
            moves.append((before - float(param[0, 0])) / rate)
        result[kind] = numpy.array(moves)
    return result


def _svg(figure: plt.Figure, label: str) -> str:
    """The figure as an element for an HTML page, whose style sheet has the colours."""
    text = io.StringIO()
    figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r' id="[a-z0-9.]+_\d+"| xmlns(:xlink)?="[^"]*"', "", svg)
    # The page has the font, and styles in an element would hold for the whole page.
    svg = re.sub(
        r" font-family: [^;\"]*;?|<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL
    )
    svg = re.sub(r' width="[\d.]+pt" height="[\d.]+pt"', "", svg, count=1)
    for color, variable in COLORS.items():
        svg = svg.replace(color, variable)
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1).replace("\n", " ")


def _largest(name: str) -> float:
    return max(numpy.nanmax(numpy.abs(moves)) for moves in updates(name).values())


def is_logarithmic(name: str) -> bool:
    """Whether the updates need a logarithmic scale: those of rules that set their own step size."""
    return _largest(name) > 1000


def scale_of_peer(name: str) -> float:
    """The power of ten by which AdamW's updates are multiplied to be comparable."""
    if is_logarithmic(name):
        return 1
    return 10.0 ** round(numpy.log10(_largest(name) / _largest("AdamW")))


def plots(name: str) -> dict[str, str]:
    """An SVG for each kind of gradient."""
    plt.rcParams["svg.fonttype"] = "none"
    result = {}
    for kind, moves in updates(name).items():
        plt.rcParams["svg.hashsalt"] = f"{name} {kind}"
        figure, axes = plt.subplots(figsize=(3.4, 2.1))
        # A layout that is computed would draw each figure twice.
        figure.subplots_adjust(left=0.15, right=0.99, bottom=0.19, top=0.9)
        steps = numpy.arange(1, STEPS + 1)
        if name != "AdamW":
            peer = updates("AdamW")[kind] * scale_of_peer(name)
            axes.plot(steps, peer, color=PEER, linewidth=1, linestyle=(0, (4, 2)))
        if is_logarithmic(name):
            axes.set_yscale("symlog", linthresh=1)
            axes.yaxis.get_major_locator().set_params(numticks=6)
        axes.axhline(0, color=AXIS, linewidth=0.5)
        axes.plot(steps, moves, color=RULE, linewidth=1.5)
        axes.set_title(kind, fontsize=9)
        axes.set_xlabel("step", fontsize=8)
        axes.tick_params(labelsize=8, color=AXIS)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(AXIS)
        result[kind] = _svg(figure, f"updates of {name} for {kind} gradients")
    return result
