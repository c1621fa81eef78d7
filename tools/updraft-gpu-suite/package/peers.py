"""Compares steps of Updraft, torch and Triton on the same tensors, in turns.

Writes a line of JSON for each result, like the suite's other parts.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import platform
import statistics
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import torch
    from updraft_library import Library

    Step = Callable[[], object]
    Results = dict[str, Any]


class SkippedError(Exception):
    """Raised for a test that can't run here, with the reason."""


class Recorder:
    """Prints results and writes them."""

    def __init__(self, file: TextIO, has_figures: bool) -> None:
        """Figures are omitted if sizes are small."""
        self.file, self.has_figures = file, has_figures

    def write(self, line: Results, text: str = "") -> None:
        """Writes a line and prints its values."""
        self.file.write(json.dumps(line) + "\n")
        self.file.flush()
        if text:
            print(text, flush=True)

    def run(self, name: str, body: Callable[[], Results]) -> Results:
        """Runs a test or a measurement; returns its values, empty if it did not pass."""
        start = time.monotonic()
        values: Results = {}
        status, reason = "passed", ""
        try:
            values = body()
        except SkippedError as error:
            status, reason = "skipped", str(error)
        except Exception as error:  # the failure of one peer must not stop the others
            status, reason = "failed", f"{type(error).__name__}: {error}"
        line = {"part": "peers", "name": name, **values, "status": status}
        if reason:
            line["reason"] = reason
        shown = "".join(
            f"  {key} {value:.4g}" for key, value in values.items() if isinstance(value, float)
        )
        line["seconds"] = time.monotonic() - start
        self.write(line, f"{status:<8} peers {name}{': ' if reason else ''}{reason}{shown}")
        return values

    def figure_at_least(self, name: str, value: float, aim: float) -> None:
        """Writes a value that has a minimum."""
        if self.has_figures:
            reached = value >= aim
            line = {"figure": name, "value": value, "at_least": aim, "reached": reached}
            words = "reached" if reached else "missed"
            self.write(line, f"figure   {name}: {value:.3g}, at least {aim:g}: {words}")


@dataclasses.dataclass
class Work:
    """An optimizer and the tensors to step."""

    name: str
    rule: str  # Updraft's
    optimizer: str  # torch's
    shapes: list[tuple[int, ...]]
    dtype: str = "float32"
    settings: dict[str, float] = dataclasses.field(default_factory=dict)
    compiled: bool = False  # also measure torch.compile, which takes long
    triton: bool = True
    agrees: bool = True  # torch computes the same in the same precision


def resnet50() -> list[tuple[int, ...]]:
    """Returns the shapes of the 161 parameters of torchvision's resnet50."""
    shapes: list[tuple[int, ...]] = []

    def convolution(out: int, into: int, size: int) -> None:
        shapes.extend([(out, into, size, size), (out,), (out,)])

    convolution(64, 3, 7)
    into = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            convolution(width, into, 1)
            convolution(width, width, 3)
            convolution(4 * width, width, 1)
            if block == 0:
                convolution(4 * width, into, 1)
            into = 4 * width
    return [*shapes, (1000, 2048), (1000,)]


def gpt2() -> list[tuple[int, ...]]:
    """Returns the shapes of the 48 matrices of GPT-2's 12 layers."""
    return [(2304, 768), (768, 768), (3072, 768), (768, 3072)] * 12


def works(quick: bool) -> list[Work]:
    """Returns all works, or only small ones."""
    sizes = [4096] if quick else [1 << 20, 1 << 26, 1_000_000_000]
    flat: list[Work] = []
    for size in sizes:
        one = [(size,)]
        flat += [
            Work(f"adamw f32, {size} elements", "adamw", "AdamW", one, compiled=size == 1 << 26),
            Work(f"adamw bf16, {size} elements", "adamw", "AdamW", one, dtype="bfloat16"),
            Work(
                f"sgd momentum f32, {size} elements",
                "sgd",
                "SGD",
                one,
                settings={"lr": 1e-3, "momentum": 0.9},
                triton=False,
            ),
        ]
    many = 100 if quick else 21_000
    resnet = [(64,)] * 20 if quick else resnet50()
    return [
        *flat,
        Work("adamw f32, ResNet-50", "adamw", "AdamW", resnet, compiled=not quick),
        Work(
            "sgd momentum f32, ResNet-50",
            "sgd",
            "SGD",
            resnet,
            settings={"lr": 1e-3, "momentum": 0.9},
            triton=False,
        ),
        Work(f"adamw f32, {many} tensors", "adamw", "AdamW", [(64,)] * many, triton=False),
        # torch multiplies in bf16.
        Work(
            "muon f32, GPT-2's matrices",
            "muon",
            "Muon",
            [(12, 8), (8, 8)] if quick else gpt2(),
            triton=False,
            agrees=False,
        ),
    ]


def tensors_of(work: Work, device: torch.device, scale: float, seed: int) -> list[torch.Tensor]:
    """Makes random tensors of the work's shapes."""
    import torch

    generator = torch.Generator(device=device).manual_seed(seed)
    dtype = getattr(torch, work.dtype)
    return [
        torch.randn(shape, generator=generator, device=device, dtype=dtype).mul_(scale)
        for shape in work.shapes
    ]


def torch_step(work: Work, params: Sequence[torch.Tensor], **options: bool) -> Step:
    """Returns the step of torch's optimizer over parameters that have gradients."""
    import torch

    optimizer = getattr(torch.optim, work.optimizer)(params, **work.settings, **options)
    return optimizer.step


def contestants_of(
    work: Work, library: Library, device: torch.device
) -> tuple[dict[str, Step], dict[str, str]]:
    """Returns steps over the same parameters and gradients, and why some are missing."""
    import torch
    from updraft_library import Optimizer

    params = [tensor.requires_grad_() for tensor in tensors_of(work, device, 0.5, 1)]
    grads = tensors_of(work, device, 1e-2, 2)
    for param, grad in zip(params, grads, strict=True):
        param.grad = grad
    data = [param.detach() for param in params]
    steps: dict[str, Step] = {
        "updraft": Optimizer(library, work.rule, data, grads, **work.settings).step
    }
    missing: dict[str, str] = {}

    def attempt(name: str, make: Callable[[], Step]) -> None:
        try:
            step = make()
            step()
            torch.cuda.synchronize()
            steps[name] = step
        except Exception as error:  # the others can still run
            missing[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
            torch.cuda.empty_cache()

    def rounded(products: str) -> Step:
        return Optimizer(library, work.rule, data, grads, "fast", products=products).step

    steps["updraft"]()
    if work.optimizer == "Muon":
        attempt("torch", lambda: torch_step(work, params))
        attempt("bf16", lambda: rounded("bf16"))
        attempt("f16", lambda: rounded("f16"))
        return steps, missing
    attempt("torch fused", lambda: torch_step(work, params, fused=True))
    attempt("torch foreach", lambda: torch_step(work, params, foreach=True))
    if work.compiled:
        eager = torch_step(work, params, foreach=True)
        attempt("torch.compile", lambda: torch.compile(lambda: eager()))
    if work.triton and work.optimizer == "AdamW":

        def triton_step() -> Step:
            from triton_adamw import TritonAdamW

            return TritonAdamW(data, grads).step

        attempt("triton", triton_step)
    return steps, missing


def race(steps: dict[str, Step], quick: bool) -> dict[str, list[float]]:
    """Returns the times per step in ms; the contestants take turns."""
    import torch

    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def timed(step: Step, calls: int) -> float:
        begin.record()
        for _ in range(calls):
            step()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / calls

    calls = {}
    for name, step in steps.items():
        timed(step, 2)
        calls[name] = max(1, min(1000, int((0.1 if quick else 10) / timed(step, 2))))
    times: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(3 if quick else 15):
        for name, step in steps.items():
            times[name].append(timed(step, calls[name]))
    return times


def host_us(step: Step, quick: bool) -> float:
    """Returns the time of the call alone: the median in microseconds."""
    import torch

    times = []
    for index in range(8 if quick else 64):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e6)
        if index % 8 == 7:
            torch.cuda.synchronize()
    return statistics.median(times)


def measure(work: Work, library: Library, device: torch.device, quick: bool) -> Results:
    """Returns the times of all contestants."""
    import torch

    needed = 64 * sum(torch.Size(shape).numel() for shape in work.shapes)
    free = torch.cuda.mem_get_info(device)[0]
    if needed > free:
        raise SkippedError(
            f"needs about {needed >> 20} MiB of memory, but only {free >> 20} are free"
        )
    steps, missing = contestants_of(work, library, device)
    return {"tensors": len(work.shapes), **raced(steps, quick), "missing": missing}


def raced(steps: dict[str, Step], quick: bool) -> Results:
    """Returns the times of all contestants, and how many times as long as Updraft each takes."""
    times = race(steps, quick)
    ours = statistics.median(times["updraft"])
    values: Results = {
        "times": {
            name: {
                "median_ms": statistics.median(of),
                "min_ms": min(of),
                "max_ms": max(of),
                "host_us": host_us(steps[name], quick),
            }
            for name, of in times.items()
        },
    }
    for name, of in times.items():
        if name != "updraft":
            values[f"{name} / updraft"] = statistics.median(of) / ours
    return values


def multiplied(library: Library, device: torch.device, side: int, quick: bool) -> Results:
    """Returns the times of a product of two matrices by Updraft and by cuBLAS.

    Updraft's is the step of a rule, which also copies the result. Neither uses TF32. A bf16 or f16
    product rounds its operands; cuBLAS gets them from a pass of torch that does.
    """
    import torch
    from updraft_library import Optimizer

    torch.backends.cuda.matmul.allow_tf32 = False
    work = Work("", "", "", [(side, side)])
    (lhs,), (rhs,) = (tensors_of(work, device, 1.0, seed) for seed in (1, 2))
    rule = pathlib.Path(__file__).with_name("product.upd")
    product = torch.empty_like(lhs)
    steps: dict[str, Step] = {
        "updraft": Optimizer(library, str(rule), [lhs], [rhs]).step,
        "cuBLAS": lambda: torch.mm(lhs, rhs.T, out=product),
        "bf16": Optimizer(library, str(rule), [lhs], [rhs], "fast", products="bf16").step,
        "cuBLAS bf16": lambda: torch.mm(lhs.bfloat16(), rhs.bfloat16().T),
        "f16": Optimizer(library, str(rule), [lhs], [rhs], "fast", products="f16").step,
        "cuBLAS f16": lambda: torch.mm(lhs.half(), rhs.half().T),
    }
    values = raced(steps, quick)
    for of in values["times"].values():
        of["tflops"] = 2e-9 * side**3 / of["median_ms"]
    return values


def agrees(work: Work, library: Library, device: torch.device) -> Results:
    """Compares five steps with torch's fused ones, which round in another order."""
    import torch
    from updraft_library import Optimizer

    ours = tensors_of(work, device, 0.5, 1)
    theirs = [tensor.clone().requires_grad_() for tensor in ours]
    grads = tensors_of(work, device, 1e-2, 2)
    for param, grad in zip(theirs, grads, strict=True):
        param.grad = grad
    optimizer = Optimizer(library, work.rule, ours, grads, **work.settings)
    step = torch_step(work, theirs, fused=True)
    for _ in range(5):
        optimizer.step()
        step()
        for grad in grads:
            grad.neg_().mul_(0.9)
    relative, absolute = (1e-5, 1e-6) if work.dtype == "float32" else (2e-2, 1e-3)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other.detach(), rtol=relative, atol=absolute)
    return {}


def captured(library: Library, device: torch.device) -> Results:
    """Compares replays of a step that torch captured, with another lr, with ordinary steps."""
    import torch
    from updraft_library import Optimizer

    work = Work("", "adamw", "AdamW", [(1000,), (33, 65), (7,)])
    grads = tensors_of(work, device, 1e-2, 2)
    pair = [tensors_of(work, device, 0.5, 1) for _ in range(2)]
    optimizers = [Optimizer(library, "adamw", params, grads) for params in pair]
    lr = torch.tensor(0.01, device=device)
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    optimizers[0].read_lr(lr)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        optimizers[0].use_stream(stream)
        optimizers[0].step()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        optimizers[0].step()
    values = (0.01, 0.01, 0.003, 0.1)  # the first value is for the step before the capture
    for index, value in enumerate(values):
        if index > 0:
            lr.fill_(value)
            graph.replay()
        optimizers[1].set("lr", lr.item())
        optimizers[1].step()
        torch.cuda.synchronize()
        for tensor, (replayed, taken) in enumerate(zip(*pair, strict=True)):
            if not torch.equal(replayed, taken):
                raise AssertionError(f"tensor {tensor} differs after replay {index}")
    return {"replays": len(values) - 1}


def run(arguments: argparse.Namespace, recorder: Recorder) -> None:
    """Runs everything; raises SkippedError if nothing can run."""
    try:
        import torch
    except ImportError as error:
        raise SkippedError(
            f"{sys.executable} has no torch: {error}; choose another with --python"
        ) from (error)
    if not torch.cuda.is_available():
        raise SkippedError(f"torch {torch.__version__} of {sys.executable} finds no GPU")
    from updraft_library import Library

    library = Library(arguments.library, arguments.rules)
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
    }
    try:
        import triton

        versions["triton"] = triton.__version__
    except ImportError:
        pass
    recorder.write({"versions": versions})
    device = torch.device("cuda", int(arguments.device.partition(":")[2] or 0))
    torch.cuda.set_device(device)
    recorder.run("replays of a graph of torch", lambda: captured(library, device))
    compare_and_measure(library, device, arguments.quick, recorder)


def compare_and_measure(
    library: Library, device: torch.device, quick: bool, recorder: Recorder
) -> None:
    """Runs all works."""
    import torch

    for work in works(True):
        if not work.agrees:
            continue
        recorder.run(f"agrees with torch, {work.name}", lambda: agrees(work, library, device))  # noqa: B023
    for work in works(quick):
        values = recorder.run(work.name, lambda: measure(work, library, device, quick))  # noqa: B023
        torch.cuda.empty_cache()
        if "torch fused / updraft" in values:
            recorder.figure_at_least(
                f"{work.name}, times as fast as torch fused", values["torch fused / updraft"], 1
            )
    for side in (40,) if quick else (2048, 4096, 8192):
        recorder.run(
            f"product f32, {side} x {side} x {side}",
            lambda: multiplied(library, device, side, quick),  # noqa: B023
        )


def main() -> None:
    """Runs as the suite's part `peers`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="libupdraft.so")
    parser.add_argument("--rules", required=True, help="folder of the shipped rules")
    parser.add_argument("--lines", required=True, help="file for the results")
    parser.add_argument("--device", default="cuda", help="cuda, or cuda:N")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    arguments = parser.parse_args()
    with open(arguments.lines, "a", encoding="utf-8") as file:
        recorder = Recorder(file, has_figures=not arguments.quick)
        try:
            run(arguments, recorder)
        except SkippedError as reason:
            recorder.write(
                {
                    "part": "peers",
                    "name": "whole part",
                    "status": "skipped",
                    "reason": str(reason),
                },
                f"skipped  peers whole part: {reason}",
            )


if __name__ == "__main__":
    main()
