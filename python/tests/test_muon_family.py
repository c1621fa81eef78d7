"""Muon and the rules that follow it, on the shapes and gradients that products are sensitive to."""

import numpy
import pytest

import updraft

NAMES = ["Muon", "MuonClip", "NorMuon", "AdaMuon", "Scion", "PolarGrad", "Dion2"]


def draw(seed, *shape):
    return numpy.random.default_rng(seed).standard_normal(shape).astype("float32")


def stepped(name, param, grads, **options):
    result = param.copy()
    optimizer = updraft.ArrayOptimizer(updraft.compile(updraft.load(name), **options), [result])
    for grad in grads:
        optimizer.step([grad])
    return result, optimizer


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3), (1, 5), (5, 1), (2, 3, 4), (6,), ()])
@pytest.mark.parametrize("name", NAMES)
def test_a_gradient_of_zero_only_decays(name, shape):
    param = draw(1, *shape)
    result, optimizer = stepped(name, param, [numpy.zeros_like(param)] * 3)
    lr = optimizer.groups[0]["lr"]
    decay = lr if name == "Scion" else lr * optimizer.groups[0]["weight_decay"]
    numpy.testing.assert_allclose(result, param * (1 - decay) ** 3, rtol=1e-6)
    assert all(numpy.isfinite(state).all() for state in optimizer.state(0).values())


@pytest.mark.parametrize("options", [{}, {"numerics": "fast"}], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_a_row_or_a_column_keeps_its_direction(name, options):
    """It has one singular value, and the iteration changes nothing else."""
    settings = {"ns_set": "polar_express", "weight_decay": 0}
    if name == "Scion":
        settings = {"ns_set": "polar_express", "norm": "Spectral", "unconstrained": True}
    grad = draw(2, 1, 9)
    row, _ = stepped(name, numpy.zeros_like(grad), [grad], defaults=settings, **options)
    column, _ = stepped(name, numpy.zeros_like(grad.T), [grad.T], defaults=settings, **options)
    if name != "AdaMuon":  # elements of its first step all have one size
        cosine = (row * grad).sum() / numpy.linalg.norm(row) / numpy.linalg.norm(grad)
        assert cosine == pytest.approx(-1, abs=1e-3)
    if name != "NorMuon":  # it divides rows
        assert numpy.allclose(
            row / numpy.linalg.norm(row), column.T / numpy.linalg.norm(column), rtol=1e-4
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_its_matrices(name):
    batch, grads = draw(3, 3, 7, 4), [draw(4 + step, 3, 7, 4) for step in range(3)]
    whole, _ = stepped(name, batch, grads)
    for index in range(3):
        alone, _ = stepped(name, batch[index], [grad[index] for grad in grads])
        numpy.testing.assert_array_equal(whole[index], alone)
    assert not (whole == batch).any()


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "PolarGrad"])
def test_the_size_of_gradients_does_not_matter(name, scale):
    """A norm of a matrix has the range of f32, its square too."""
    param = draw(7, 5, 8)
    options = {"defaults": {"epsilon" if name in ("NorMuon", "Dion2") else "eps": 0}}
    usual, _ = stepped(name, param, [draw(8, 5, 8)], **options)
    scaled, _ = stepped(name, param, [draw(8, 5, 8) * numpy.float32(scale)], **options)
    numpy.testing.assert_allclose(scaled, usual, rtol=1e-5, atol=1e-6)
