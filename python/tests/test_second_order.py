"""Rules with functions of matrices against transcriptions of their authors' code, in double.

Two choices are free, and the transcription takes those of the rule: the eigenvectors of eigenvalues
that are equal, such as the zeros of a first gradient that isn't square, and random numbers.
"""

import re
import subprocess
import sys

import numpy
import pytest
import torch
from published import OPTIMIZERS

import updraft

from .conftest import RULES
from .stepping import Closeness, random_params

STEPS = 50
TOLERANCE = 1e-10  # of a parameter, at its scale
DOUBLE = {"param": "f64", "grad": "f64", "state": "f64"}
# Wide, tall, square, batches of these, and vectors. A few gradients have full rank together: the QR
# factor of a matrix that hasn't is not unique.
SHAPES = [(5, 8), (8, 5), (6, 6), (16, 13), (2, 4, 5), (2, 2, 3, 2), (1, 2), (100, 101), (19,), ()]

REFRESHES = [{"precondition_frequency": every} for every in (1, 3, 10)]
NEWTON = {"root_inverse": "coupled_newton", "epsilon": 1e-4}
OPTIONS = {
    "dion2": [
        {},
        {"fraction": 1.0, "lr": 0.05, "ns_set": "simple"},
        {"fraction": 0.5, "adjust_lr": "rms_norm", "ef_decay": 0.5, "maximize": True},
        # 0.07 * 100 is more than 7 in double.
        {"fraction": 0.07, "adjust_lr": "none", "ns_set": "cans", "ns_steps": 3},
    ],
    "kl_shampoo": [
        *({"lr": 0.1} | options for options in REFRESHES),
        {"lr": 0.1, "beta1": 0.8, "beta2": 0.5, "shampoo_beta": 0.8, "maximize": True},
        {"lr": 0.1, "beta2": 0.5, "max_clamp_value": 2, "weight_decay": 0.1},
        {"lr": 0.1, "normalize_grads": True, "using_clamping": False, "init_factor": 0.5},
    ],
    "psgd_pro": [
        {},
        {"lr": 0.1, "momentum": 0.5, "precond_lr": 0.5, "beta_lip": 0.5, "maximize": True},
        # Steps this large make factors that are far from symmetric.
        {"precond_lr": 1.5},
        {"damping_noise_scale": 0.01, "precond_init_scale": 0.3, "weight_decay": 0.1},
        {"lr": 0.05, "max_update_rms": 0.5, "warmup_steps": 5, "min_precond_lr": 0.05},
    ],
    "shampoo": [
        *REFRESHES,
        {"grafting": "none", "beta2": 0.9, "weight_decay": 0.1},
        {"beta2": 0.95, "start_preconditioning_step": 7, "precondition_frequency": 3},
        {"use_bias_correction": False, "beta1": 0.0, "beta2": 0.95, "maximize": True},
        {"grafting_beta2": 0.9, "grafting_epsilon": 1e-3, "epsilon": 1e-3},
        *(NEWTON | options for options in REFRESHES),
        NEWTON | {"grafting": "none", "beta2": 0.9, "max_iterations": 20},
    ],
    "soap": [
        *REFRESHES,
        {"lr": 0.1, "beta1": 0.8, "beta2": 0.9, "shampoo_beta": 0.8, "maximize": True},
        {"lr": 0.1, "normalize_grads": True, "correct_bias": False, "eps": 1e-3},
        {"precondition_frequency": 4, "weight_decay": 0.1},
    ],
}
CASES = [(rule, options, 1) for rule, chosen in OPTIONS.items() for options in chosen]
# Gradients for which KL-Shampoo's roots of eigenvalues reach their bounds.
CASES += [
    ("kl_shampoo", {"lr": 0.1, "beta2": 0.5} | options, 1e-3)
    for options in ({}, {"max_clamp_value": 12})
]

# The random numbers of a rule that calls `normal` once, for parameters at the same places.
NORMAL = "rule Normal() { update(param, grad) { next param = normal() } }"


def assert_is_basis(basis, matrix):
    """Checks for eigenvectors of a symmetric matrix, those of large eigenvalues first."""
    bound = 1e-12 * torch.linalg.matrix_norm(matrix).max()
    identity = torch.eye(matrix.shape[-1], dtype=matrix.dtype)
    assert (basis.mT @ basis - identity).abs().max() < 1e-12
    turned = basis.mT @ matrix @ basis
    values = turned.diagonal(dim1=-2, dim2=-1)
    assert (turned - torch.diag_embed(values)).abs().max() < bound
    assert (values.diff(dim=-1) < bound).all()


class Choices:
    """Gives the rule's free choices to the transcription."""

    def __init__(self, optimizer, theirs, ours):
        self.optimizer = optimizer
        self.places = {id(param): place for place, param in enumerate(theirs)}
        self.normal = [numpy.zeros_like(param) for param in ours]
        self.source = updraft.ArrayOptimizer(updraft.compile(NORMAL, storage=DOUBLE), self.normal)

    def step(self):
        """Draws the random numbers of the next step."""
        self.source.step([numpy.zeros_like(each) for each in self.normal])

    def __call__(self, param, name, value):
        place = self.places[id(param)]
        kind, *side = name.split()
        if kind == "basis":
            basis = torch.from_numpy(self.optimizer.state(place)[f"Q_{side[0]}"].copy())
            factor = self.optimizer.state(place)[f"GG_{side[0]}"]
            assert_is_basis(basis, torch.from_numpy(factor.copy()))
            return basis
        if kind == "noise":
            return torch.from_numpy(self.normal[place].copy())
        # The rule's bounds start from the longest row alone.
        return torch.zeros_like(value[..., :1, :])


@pytest.mark.parametrize(("rule", "options", "scale_of_gradients"), CASES, ids=str)
def test_rules_are_the_published_algorithms(rule, options, scale_of_gradients):
    generator = torch.Generator().manual_seed(3)
    theirs, ours = random_params(generator, torch.float64, SHAPES)
    compiled = updraft.compile_file(RULES / f"{rule}.upd", defaults=options, storage=DOUBLE)
    optimizer = updraft.ArrayOptimizer(compiled, ours)
    choices = Choices(optimizer, theirs, ours)
    free = {} if rule in ("dion2", "shampoo") else {"choose": choices}
    reference = OPTIMIZERS[rule](theirs, **options, **free)
    closeness = Closeness(theirs, ours)
    for step in range(1, STEPS + 1):
        if step == STEPS // 2:
            reference.param_groups[0]["lr"] *= 0.3
            optimizer.groups[0]["lr"] *= 0.3
        for param in theirs:
            grad = torch.randn(param.shape, generator=generator, dtype=param.dtype)
            param.grad = scale_of_gradients * grad
        choices.step()
        optimizer.step([param.grad.numpy() for param in theirs])
        reference.step()
        for place, (error, scale) in enumerate(closeness.errors()):
            assert error / scale <= TOLERANCE, f"step {step}, shape {SHAPES[place]}: {error}"
    assert closeness.all_moved()
    for place, param in enumerate(theirs):
        for side, factor in reference.state[param].get("GG", {}).items():
            ours_of_side = torch.from_numpy(optimizer.state(place)[f"GG_{side}"])
            assert (ours_of_side - factor).abs().max() <= TOLERANCE * factor.abs().max()


@pytest.mark.parametrize("rule", ["soap", "kl_shampoo"])
def test_the_first_step_only_makes_bases(rule):
    param = numpy.ones((3, 4))
    optimizer = updraft.ArrayOptimizer(
        updraft.compile_file(RULES / f"{rule}.upd", storage=DOUBLE), [param]
    )
    optimizer.step([numpy.random.default_rng(1).standard_normal((3, 4))])
    assert (param == 1).all()
    state = optimizer.state(0)
    assert (state["exp_avg"] == 0).all()
    for side in ("left", "right"):
        assert_is_basis(*(torch.from_numpy(state[f"{name}_{side}"]) for name in ("Q", "GG")))


@pytest.mark.parametrize("rule", OPTIONS)
def test_a_gradient_of_zero_is_finite(rule):
    param = numpy.ones((3, 4), dtype="float32")
    optimizer = updraft.ArrayOptimizer(updraft.compile_file(RULES / f"{rule}.upd"), [param])
    for _ in range(12):
        optimizer.step([numpy.zeros_like(param)])
    assert numpy.isfinite(param).all()
    assert all(numpy.isfinite(state).all() for state in optimizer.state(0).values())


def test_psgd_pro_is_finite_for_tiny_and_large_gradients():
    """Squares of such gradients are 0 or infinite in f32. Each of a batch is computed by itself."""
    generator = numpy.random.default_rng(4)
    sizes = numpy.array([0, 1e-30, 1e-18, 1e-12, 1, 1e10], dtype="float32")[:, None, None]
    param = generator.standard_normal((6, 3, 4), dtype="float32")
    rule = updraft.compile_file(RULES / "psgd_pro.upd", defaults={"damping_noise_scale": 0})
    optimizer = updraft.ArrayOptimizer(rule, [param])
    for _ in range(5):
        optimizer.step([sizes * generator.standard_normal(param.shape, dtype="float32")])
    assert numpy.isfinite(param).all()
    assert all(numpy.isfinite(state).all() for state in optimizer.state(0).values())


def test_both_methods_for_roots_agree_in_f32():
    """Of factors of less than full rank, with an epsilon that rounding can't undo."""
    generator = numpy.random.default_rng(2)
    grads = [generator.standard_normal((4, 24)).astype("float32") for _ in range(3)]
    results = []
    for root_inverse in ("eigh", "coupled_newton"):
        param = numpy.zeros((4, 24), dtype="float32")
        defaults = {"root_inverse": root_inverse, "epsilon": 1e-3}
        rule = updraft.compile_file(RULES / "shampoo.upd", defaults=defaults)
        optimizer = updraft.ArrayOptimizer(rule, [param])
        for grad in grads:
            optimizer.step([grad])
        results.append(param)
    numpy.testing.assert_allclose(*results, rtol=2e-3, atol=1e-5)


# Bases of a side of 2^15 - 2 take 4 GiB each, and the process may have 12.
TOO_LARGE = """
import resource, sys, torch, updraft.optim

param = torch.nn.Parameter(torch.zeros(int(sys.argv[1]), 1))
param.grad = torch.ones_like(param)
resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
try:
    updraft.optim.SOAP([param]).step()
except (RuntimeError, ValueError) as error:
    print(error)
assert torch.equal(param, torch.zeros_like(param))
"""


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (32766, r"no memory for \d+ bytes of \w.*"),
        (
            32767,
            r"parameter `0` is \[32767, 1\], so `eigenvalues` would take a matrix of 32767 x "
            r"32767; it takes at most 32766 rows and columns",
        ),
    ],
)
def test_too_large_bases_are_refused(rows, message):
    printed = subprocess.run(
        [sys.executable, "-c", TOO_LARGE, str(rows)], capture_output=True, text=True, check=True
    ).stdout
    assert re.fullmatch(message + "\n", printed)
