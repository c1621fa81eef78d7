"""The library's transforms around a rule, against transcriptions of them.

Both run in double around PyTorch's AdamW, where they agree up to the rounding of a different order
of operations.
"""

import math
from dataclasses import dataclass, field

import numpy
import pytest
import torch

import updraft

from .conftest import RULES

STEPS = 12
TOLERANCE = 1e-11  # per step, at the scale of the parameter
SHAPES = [(41, 29), (7,), (1,), (3, 5, 2), (200, 3)]
DOUBLE = {"param": "f64", "grad": "f64", "state": "f64"}
RATE = 0.05


class Plain:
    """AdamW, and methods that a transform around it may override."""

    def __init__(self, params, **options):
        self.params = params
        self.adamw = torch.optim.AdamW(params, lr=RATE, foreach=False)
        self.steps = 0
        for name, value in options.items():
            setattr(self, name, value)

    def before(self):
        """Changes the gradients; returns whether to step."""
        return True

    def after(self, old):
        """Changes the parameters, which were `old`."""

    @torch.no_grad()
    def step(self):
        self.steps += 1
        old = [param.clone() for param in self.params]
        if self.before():
            self.adamw.step()
            self.after(old)


class ClipByValue(Plain):
    bound = 1.0

    def before(self):
        torch.nn.utils.clip_grad_value_(self.params, self.bound, foreach=False)
        return True


class ClipByGlobalNorm(Plain):
    max_norm = 1.0

    def before(self):
        torch.nn.utils.clip_grad_norm_(self.params, self.max_norm, foreach=False)
        return True


class ClipByBlockRms(Plain):
    threshold = 1.0

    def before(self):
        for param in self.params:
            rms = param.grad.square().mean().sqrt()
            param.grad /= max(1.0, float(rms) / self.threshold)
        return True


class AdaptiveGradClip(Plain):
    clipping = 0.01
    eps = 1e-3

    def before(self):
        def unit_norm(x):
            return torch.linalg.vector_norm(x, dim=-1, keepdim=True)

        for param in self.params:
            limit = self.clipping * unit_norm(param).clamp(min=self.eps)
            norm = unit_norm(param.grad)
            clipped = param.grad * limit / norm.clamp(min=1e-6)
            param.grad = torch.where(norm > limit, clipped, param.grad)
        return True


class AddDecayedWeights(Plain):
    weight_decay = 0.0

    def before(self):
        for param in self.params:
            param.grad += self.weight_decay * param
        return True


class Centralize(Plain):
    def before(self):
        for param in self.params:
            if param.dim() > 1:
                param.grad -= param.grad.mean(dim=-1, keepdim=True)
        return True


class Unscale(Plain):
    inv_scale = 1.0

    def before(self):
        for param in self.params:
            param.grad *= self.inv_scale
        return all(param.grad.isfinite().all() for param in self.params)


class Accumulate(Plain):
    every = 2

    def before(self):
        if self.steps % self.every == 1 % self.every:
            self.sums = [torch.zeros_like(param) for param in self.params]
        for total, param in zip(self.sums, self.params, strict=True):
            total += param.grad
            param.grad = total / self.every
        return self.steps % self.every == 0


class EmaOfWeights(Plain):
    decay = 0.999
    ema = None

    def after(self, old):
        self.ema = self.ema or old
        for average, param in zip(self.ema, self.params, strict=True):
            average += (1 - self.decay) * (param - average)

    def states(self, index):
        return {"ema": self.ema[index]}


class Lookahead(Plain):
    every = 5
    alpha = 0.5
    slow = None

    def after(self, old):
        self.slow = self.slow or old
        if self.steps % self.every == 0:
            for slow, param in zip(self.slow, self.params, strict=True):
                slow += self.alpha * (param - slow)
                param.copy_(slow)


class Cautious(Plain):
    def after(self, old):
        for before, param in zip(old, self.params, strict=True):
            update = param - before
            mask = (update * param.grad < 0).double()
            param.copy_(before + update * mask * (mask.numel() / (mask.sum() + 1)))


@dataclass
class Case:
    transform: str
    reference: type
    options: dict = field(default_factory=dict)

    @property
    def chain(self):
        values = ", ".join(f"{name} = {value}" for name, value in self.options.items())
        stage, rule = f"{self.transform}({values})", f"AdamW(lr = {RATE})"
        is_after = self.reference.after is not Plain.after
        return f"{rule} |> {stage}" if is_after else f"{stage} |> {rule}"

    def __str__(self):
        return self.chain


CASES = [
    Case("clip_by_value", ClipByValue),
    Case("clip_by_value", ClipByValue, {"bound": 0.1}),
    Case("clip_by_global_norm", ClipByGlobalNorm),
    Case("clip_by_global_norm", ClipByGlobalNorm, {"max_norm": 1e6}),
    Case("clip_by_block_rms", ClipByBlockRms),
    Case("clip_by_block_rms", ClipByBlockRms, {"threshold": 0.5}),
    Case("adaptive_grad_clip", AdaptiveGradClip),
    Case("adaptive_grad_clip", AdaptiveGradClip, {"clipping": 0.9, "eps": 0.5}),
    Case("add_decayed_weights", AddDecayedWeights, {"weight_decay": 0.1}),
    Case("centralize", Centralize),
    Case("unscale", Unscale, {"inv_scale": 0.125}),
    Case("accumulate", Accumulate),
    Case("accumulate", Accumulate, {"every": 3}),
    Case("accumulate", Accumulate, {"every": 1}),
    Case("ema_of_weights", EmaOfWeights),
    Case("ema_of_weights", EmaOfWeights, {"decay": 0.5}),
    Case("lookahead", Lookahead),
    Case("lookahead", Lookahead, {"every": 2, "alpha": 0.3}),
    Case("cautious", Cautious),
]


def compile_chain(chain, **options):
    return updraft.compile_file(RULES / "adamw.upd", rule=chain, **options)


def random_tensors(generator):
    return [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in SHAPES]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_transforms_do_what_is_published(case):
    generator = torch.Generator().manual_seed(7)
    theirs = [torch.nn.Parameter(x) for x in random_tensors(generator)]
    ours = [param.detach().clone().numpy() for param in theirs]
    states = {"ema": "f64"} if case.transform == "ema_of_weights" else {}
    if case.transform == "accumulate":
        states = {"grad_sum": "f64"}
    optimizer = updraft.ArrayOptimizer(compile_chain(case.chain, storage=DOUBLE | states), ours)
    reference = case.reference(theirs, **case.options)
    scales = [max(1.0, numpy.abs(param).max()) for param in ours]
    for step in range(1, STEPS + 1):
        grads = random_tensors(generator)
        for param, grad in zip(theirs, grads, strict=True):
            param.grad = grad.clone()
        reference.step()
        optimizer.step([grad.numpy() for grad in grads])
        for index, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            error = numpy.abs(our - their.detach().numpy()).max() / scales[index]
            assert error <= TOLERANCE * step, f"step {step}, parameter {index}: {error}"
    if case.transform == "ema_of_weights":
        for index in range(len(ours)):
            ema = optimizer.state(index)["ema"]
            assert numpy.abs(ema - reference.ema[index].numpy()).max() < 1e-9


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_unscale_skips_the_step_of_the_group(bad):
    ours = [numpy.ones((3, 4), "f4"), numpy.ones(5, "f4")]
    optimizer = updraft.ArrayOptimizer(compile_chain("unscale |> AdamW"), ours)
    good = [numpy.full(param.shape, 0.5, "f4") for param in ours]
    optimizer.step(good)
    before = [param.copy() for param in ours]
    broken = [grad.copy() for grad in good]
    broken[1][2] = bad
    optimizer.step(broken)
    assert all((our == old).all() for our, old in zip(ours, before, strict=True))
    assert [optimizer.step_count(index) for index in range(2)] == [1, 1]
    optimizer.step(good)
    assert all((our != old).all() for our, old in zip(ours, before, strict=True))


def test_master_copy_keeps_what_the_parameter_cannot_hold():
    start = torch.randn(1000, generator=torch.Generator().manual_seed(3))
    exact = start.bfloat16().float().numpy()
    rounded = start.bfloat16()
    chain = "master_copy |> AdamW(lr = 1e-4)"
    storage = {"param": "bf16", "grad": "f32", "state": "f32"}
    copied = updraft.ArrayOptimizer(compile_chain(chain, storage=storage), [rounded])
    plain = updraft.ArrayOptimizer(compile_chain("AdamW(lr = 1e-4)"), [exact])
    for step in range(20):
        grad = numpy.full(1000, 1.0 + step, "f4")
        copied.step([grad])
        plain.step([grad])
    assert (torch.from_numpy(exact).bfloat16() == rounded).all()
    assert (copied.state(0)["master"] == exact).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_noise_is_normally_distributed(dtype):
    count = 200_000
    storage = {"param": f"f{8 * int(dtype[1])}", "grad": f"f{8 * int(dtype[1])}"}
    chain = "add_noise(eta = 4, gamma = 1) |> SGD(lr = 1)"
    rule = updraft.compile_file(RULES / "sgd.upd", rule=chain, storage=storage)
    seen = []
    for seed in (0, 0, 1):
        params = [numpy.zeros(count, dtype), numpy.zeros(count, dtype)]
        optimizer = updraft.ArrayOptimizer(rule, params)
        optimizer.seed = seed
        for _ in range(2):
            before = [param.copy() for param in params]
            optimizer.step([numpy.zeros(count, dtype)] * 2)
        # The variance of the second step is eta / 2.
        seen.append([(old - new) / math.sqrt(2) for old, new in zip(before, params, strict=True)])
    assert (seen[0][0] == seen[1][0]).all()
    assert abs(numpy.corrcoef(seen[0][0], seen[2][0])[0, 1]) < 0.02
    assert abs(numpy.corrcoef(seen[0][0], seen[0][1])[0, 1]) < 0.02
    noise = numpy.sort(seen[0][0].astype("f8"))
    assert numpy.isfinite(noise).all()
    # The Kolmogorov-Smirnov statistic, which exceeds 1.95 / sqrt(n) for one sample in 1000.
    expected = 0.5 * (1 + torch.erf(torch.from_numpy(noise) / math.sqrt(2)).numpy())
    assert numpy.abs(expected - (numpy.arange(count) + 0.5) / count).max() < 2.5 / math.sqrt(count)


def test_every_transform_is_compared():
    compared = {case.transform for case in CASES} | {"master_copy", "add_noise"}
    assert compared == {path.stem for path in (RULES / "transforms").glob("*.upd")}
