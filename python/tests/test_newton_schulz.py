"""Singular values after `newton_schulz`, for each set of coefficients."""

import numpy
import pytest
from published.muon import COEFFICIENTS, STEPS, triples

import updraft

RULE = """
rule Orthogonalized(static set = "simple", static steps = 5) {
  update(param, grad) {
    next param = if matrix
                 then newton_schulz(param, newton_schulz_coefficients(set, steps))
                 else param
  }
}
"""


def iterated(values, name, steps):
    """The scalar iteration in f64."""
    for a, b, c in triples(name, steps):
        values = values * (a + values**2 * (b + values**2 * c))
    return values


def orthogonalized(matrix, name, steps, dtype="f64"):
    rule = updraft.compile(
        RULE,
        defaults={"set": name, "steps": steps},
        storage={"param": dtype, "grad": dtype},
        tensors="matrices",
    )
    result = matrix.copy()
    updraft.ArrayOptimizer(rule, [result]).step([matrix])
    return result


def with_singular_values(values, rows, columns, seed):
    """Returns a matrix and its singular vectors."""
    generator = numpy.random.default_rng(seed)
    left = numpy.linalg.qr(generator.standard_normal((rows, len(values))))[0]
    right = numpy.linalg.qr(generator.standard_normal((columns, len(values))))[0]
    return left @ numpy.diag(values) @ right.T, left, right


@pytest.mark.parametrize("steps", [1, 3, None])
@pytest.mark.parametrize("name", COEFFICIENTS)
def test_diagonal_matrices_follow_the_scalar_iteration(name, steps):
    steps = steps or STEPS.get(name, 5)
    values = numpy.linspace(0.05, 0.9, 7)
    found = orthogonalized(numpy.diag(values), name, steps)
    expected = iterated(values, name, steps)
    numpy.testing.assert_allclose(numpy.diag(found), expected, rtol=1e-12, atol=1e-12)
    assert numpy.count_nonzero(found - numpy.diag(numpy.diag(found))) == 0


@pytest.mark.parametrize("shape", [(8, 8), (8, 21), (21, 8)])
@pytest.mark.parametrize("name", COEFFICIENTS)
def test_singular_vectors_stay(name, shape):
    values = numpy.linspace(0.1, 0.9, 8) / 2
    matrix, left, right = with_singular_values(values, *shape, seed=3)
    found = left.T @ orthogonalized(matrix, name, 5) @ right
    expected = numpy.diag(iterated(values, name, 5))
    numpy.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


# The least and the largest result for all singular values from a least one to 1, of a matrix
# whose norm is 1.
RANGES = {
    ("simple", 5, 1e-3): (0.471, 1.202),
    ("simple", 5, 1e-2): (0.682, 1.134),
    ("quintic", 5, 1e-3): (0.475, 1.145),
    ("quintic", 5, 1e-2): (0.978, 1.032),
    ("polar_express", 5, 1e-3): (0.847, 1.141),
    ("polar_express", 5, 1e-2): (0.859, 1.141),
    ("cans", 5, 1e-3): (0.884, 1.120),
    ("cans", 5, 1e-2): (0.884, 1.120),
    ("deepseek_v4", 10, 1e-3): (1.000, 1.001),
    ("deepseek_v4", 10, 1e-2): (1.000, 1.001),
    ("cubic", 5, 1e-3): (0.119, 1.300),
    ("cubic", 5, 1e-2): (0.774, 1.300),
}


@pytest.mark.parametrize("name, steps, least", RANGES)
def test_ranges_of_singular_values(name, steps, least):
    values = numpy.geomspace(least, 1, 100_000)
    if name == "polar_express":
        values /= 1.02
    results = iterated(values, name, steps)
    extremes = values[[results.argmin(), results.argmax()]]
    found = numpy.diag(orthogonalized(numpy.diag(extremes), name, steps))
    assert tuple(found) == pytest.approx(RANGES[name, steps, least], abs=1e-3)


@pytest.mark.parametrize("shape", [(64, 256), (256, 64), (64, 64)])
@pytest.mark.parametrize("name", ["simple", "quintic", "polar_express_8", "deepseek_v4"])
def test_ranks_below_full_in_f32(name, shape):
    """Rounding gives the Gram matrix small negative eigenvalues, which must not grow."""
    matrix, *_ = with_singular_values(numpy.linspace(0.05, 0.3, 8), *shape, seed=4)
    found = orthogonalized(matrix.astype("float32"), name, 10, "f32").astype("float64")
    values = numpy.linalg.svd(found, compute_uv=False)
    expected = numpy.sort(iterated(numpy.linspace(0.05, 0.3, 8), name, 10))[::-1]
    numpy.testing.assert_allclose(values[:8], expected, rtol=1e-3)


@pytest.mark.parametrize("shape", [(64, 256), (256, 64), (64, 64)])
@pytest.mark.parametrize("name", COEFFICIENTS)
def test_ill_conditioned_matrices_in_f32(name, shape):
    """The Gram matrix has a condition number of 1e10, which f32 can't represent."""
    given = numpy.geomspace(1e-5, 1, 64) / 4
    steps = STEPS.get(name, 5)
    matrix, *_ = with_singular_values(given, *shape, seed=5)
    found = orthogonalized(matrix.astype("float32"), name, steps, "f32").astype("float64")
    values = numpy.linalg.svd(found, compute_uv=False)
    expected = numpy.sort(iterated(given, name, steps))[::-1]
    numpy.testing.assert_allclose(values, expected, rtol=0, atol=1e-3)
