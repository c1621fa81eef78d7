"""States of square matrices: rows x rows and columns x columns for each matrix of a parameter."""

import copy
import io
import pickle

import numpy
import pytest
import torch

import updraft
from updraft import lang

# Shampoo without roots.
TEXT = """
rule Preconditioned(lr = 0.1, beta = 0.75) {
  state l over (row, row)       = identity(param) when matrix
  state r over (column, column) = 0 when matrix

  update(param, grad) {
    let left  = if matrix then lerp(l, gram(grad), 1 - beta) else 0
    let right = if matrix then lerp(r, gram(transpose(grad)), 1 - beta) else 0

    next l     = left
    next r     = right
    next param = param - lr * (if matrix then left @ grad @ right else grad)
  }
}
"""


@updraft.rule(name="Preconditioned")
def traced(param, grad, state, matrix, lr=0.1, beta=0.75):
    one = lang.identity(param)
    old_l = state.setdefault("l", one, over=("row", "row"), when=matrix)
    old_r = state.setdefault("r", 0, over=("column", "column"), when=matrix)
    left = lang.lerp(old_l, lang.gram(grad), 1 - beta)
    right = lang.lerp(old_r, grad.T @ grad, 1 - beta)
    state["l"], state["r"] = left, right
    return param - lr * lang.where(matrix, left @ grad @ right, grad)


def shampoo(param, grads, lr=0.1, beta=0.75):
    """Returns the parameter and both states after these gradients, by numpy."""
    *batches, rows, columns = param.shape
    left = numpy.broadcast_to(numpy.eye(rows), (*batches, rows, rows))
    right = numpy.zeros((*batches, columns, columns))
    for grad in grads:
        turned = numpy.swapaxes(grad, -1, -2)
        left = beta * left + (1 - beta) * (grad @ turned)
        right = beta * right + (1 - beta) * (turned @ grad)
        param = param - lr * (left @ grad @ right)
    return param, left, right


SHAPES = [
    (4, 9),
    (6, 6),
    (9, 4),
    (1, 7),
    (7, 1),
    (2, 3, 5),
    (2, 2, 5, 3),
    (0, 3),
    (3, 0),
    (0, 2, 3),
]


def gradients(shape, steps=3):
    generator = numpy.random.default_rng(sum(shape) + len(shape))
    return [generator.standard_normal(shape) / 2 for _ in range(steps)]


def compiled(rule):
    return updraft.compile(rule, storage={"param": "f64", "grad": "f64"})


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("rule", [TEXT, traced], ids=["text", "traced"])
def test_steps_are_those_of_numpy(rule, shape):
    grads = gradients(shape)
    param = numpy.ones(shape)
    optimizer = updraft.ArrayOptimizer(compiled(rule), [param])
    for grad in grads:
        optimizer.step([grad])
    expected = shampoo(numpy.ones(shape), grads)
    state = optimizer.state(0)
    for found, wanted in zip((param, state["l"], state["r"]), expected, strict=True):
        assert found.shape == wanted.shape
        numpy.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_vector_has_no_matrices():
    param = numpy.ones(3)
    optimizer = updraft.ArrayOptimizer(compiled(TEXT), [param])
    optimizer.step([numpy.ones(3)])
    assert optimizer.state(0) == {}
    assert param.tolist() == [0.9] * 3


def test_bound_and_saved_states(tmp_path):
    (grad,) = gradients((3, 5), 1)
    rule = compiled(TEXT)
    first = updraft.ArrayOptimizer(rule, [numpy.ones((3, 5))])
    own = numpy.eye(3)
    with pytest.raises(updraft.InvalidArgumentError, match=r"\[5, 5\].*\[3, 3\]"):
        first.bind_state(0, "l", numpy.eye(5))
    first.bind_state(0, "l", own)
    first.bind_state(0, "r", numpy.zeros((5, 5)))
    first.step([grad])
    numpy.testing.assert_allclose(own, shampoo(grad, [grad])[1], rtol=1e-12)
    first.save(tmp_path / "states.safetensors")

    second = updraft.ArrayOptimizer(rule, [numpy.ones((3, 5))])
    second.load(tmp_path / "states.safetensors")
    for name in ("l", "r"):
        assert (second.state(0)[name] == first.state(0)[name]).all()
    third = updraft.ArrayOptimizer(rule, [numpy.ones((3, 6))])
    with pytest.raises(updraft.InvalidArgumentError, match=r"state/0/r"):
        third.load(tmp_path / "states.safetensors")


def test_states_have_types_of_their_own():
    rule = updraft.compile(TEXT, storage={"state": "bf16", "r": "f16"})
    assert rule.states == {"l": "bf16", "r": "f16"}
    with pytest.raises(updraft.CompileError, match="is for states that have the parameter's shape"):
        updraft.compile(TEXT, storage={"l": "q8_linear"})
    # A type for all states that matrices can't have is one for the others.
    assert updraft.compile(TEXT, storage={"state": "q8_linear"}).states == {"l": "f32", "r": "f32"}


def parameters():
    generator = torch.Generator().manual_seed(1)
    return [
        torch.nn.Parameter(torch.randn(shape, generator=generator, dtype=torch.float64))
        for shape in [(4, 6), (5,), (2, 3, 3)]
    ]


def set_gradients(params, step):
    generator = torch.Generator().manual_seed(step)
    for param in params:
        param.grad = torch.randn(param.shape, generator=generator, dtype=param.dtype)


def steps(optimizer, params, numbers):
    for step in numbers:
        set_gradients(params, step)
        optimizer.step()


def loaded(optimizer):
    """Another optimizer with the states from a file."""
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    other = updraft.optimizer(traced, optimizer.param_groups[0]["params"])
    other.load_state_dict(torch.load(file, weights_only=True))
    return other


def copied(optimizer):
    params = optimizer.param_groups[0]["params"]
    params, other = copy.deepcopy((params, optimizer))
    assert other.param_groups[0]["params"][0] is params[0]
    return other


def pickled(optimizer):
    return pickle.loads(pickle.dumps(optimizer))


@pytest.mark.parametrize("again", [loaded, copied, pickled])
def test_torch_optimizers(again):
    params, straight = parameters(), parameters()
    optimizer, reference = (updraft.optimizer(traced, some) for some in (params, straight))
    steps(optimizer, params, range(2))
    state = optimizer.state[params[0]]
    assert list(state) == ["step", "l", "r"]
    assert (state["l"].shape, state["r"].shape) == ((4, 4), (6, 6))
    assert optimizer.state[params[2]]["l"].shape == (2, 3, 3)
    assert list(optimizer.state[params[1]]) == ["step"]

    optimizer = again(optimizer)
    params = optimizer.param_groups[0]["params"]
    steps(optimizer, params, range(2, 4))
    steps(reference, straight, range(4))
    for param, other in zip(params, straight, strict=True):
        assert param.equal(other)
    for name in ("l", "r"):
        assert optimizer.state[params[0]][name].equal(reference.state[straight[0]][name])


def test_a_state_dict_of_other_shapes_is_refused():
    params = parameters()
    optimizer = updraft.optimizer(traced, params)
    steps(optimizer, params, range(1))
    saved = copy.deepcopy(optimizer.state_dict())
    saved["state"][0]["l"] = torch.zeros(6, 6, dtype=torch.float64)
    other = updraft.optimizer(traced, parameters())
    other.load_state_dict(saved)
    set_gradients(other.param_groups[0]["params"], 1)
    with pytest.raises(ValueError, match=r"\[6, 6\].*\[4, 4\]"):
        other.step()


def test_gradients_of_some_rows_are_refused():
    param = torch.nn.Parameter(torch.ones(4, 2))
    optimizer = updraft.optimizer(traced, [param])
    param.grad = torch.sparse_coo_tensor([[1]], [[1.0, 2.0]], (4, 2))
    with pytest.raises(ValueError, match="it multiplies whole matrices"):
        optimizer.step()


def test_a_state_that_nothing_multiplies_refuses_rows():
    rule = updraft.compile(
        "rule R(lr = 1) { state l over (row, row) = 0 when matrix update(param, grad) {"
        " next l = if matrix then l + lr else 0 next param = param - lr * grad } }"
    )
    optimizer = updraft.ArrayOptimizer(rule, [numpy.ones((4, 2), "float32")])
    rows = updraft.Rows(numpy.array([1]), numpy.ones((1, 2), "float32"))
    with pytest.raises(updraft.InvalidArgumentError) as error:
        optimizer.step([rows])
    assert "its state `l` is a square matrix of the whole parameter" in str(error.value)


def test_gradients_of_some_rows_with_an_identity():
    """A sweep over square matrices would run over the listed rows alone."""

    @updraft.rule
    def by_identity(param, grad, matrix, lr=1.0):
        return param - lr * grad * lang.where(matrix, lang.row_sum(lang.identity(param) + 1), 1)

    param = torch.nn.Parameter(torch.ones(4, 3))
    param.grad = torch.sparse_coo_tensor([[0, 2]], torch.ones(2, 3), (4, 3))
    with pytest.raises(ValueError, match="it has square matrices of the whole parameter"):
        updraft.optimizer(by_identity, [param]).step()


def test_a_state_that_would_be_too_large():
    param = numpy.ones((0, 1 << 21), "float32")
    with pytest.raises(updraft.InvalidArgumentError) as error:
        updraft.ArrayOptimizer(updraft.compile(TEXT), [param])
    assert str(error.value) == (
        "parameter `0` is [0, 2097152], so its state `r` would have matrices of 2097152 x 2097152;"
        " a parameter's square matrices have at most 2^40 elements"
    )


@pytest.mark.parametrize("rows", [1 << 31, 1 << 32, (1 << 32) + 1])
def test_temporaries_that_would_be_too_large(rows):
    text = """
    rule R(lr = 1) {
      update(param, grad) {
        next param = param - lr * (if matrix then gram(grad) @ grad else grad)
      }
    }"""
    param = numpy.ones((rows, 0), "float32")
    with pytest.raises(updraft.InvalidArgumentError) as error:
        updraft.ArrayOptimizer(updraft.compile(text), [param])
    assert str(error.value) == (
        f"parameter `0` is [{rows}, 0], so a step would have matrices of {rows} x {rows}; a "
        "parameter's square matrices have at most 2^40 elements"
    )


def test_an_extent_of_three_parts():
    @updraft.rule
    def three(param, grad, state, matrix):
        state.setdefault("l", 0, over=("row", "row", "row"), when=matrix)
        return param - grad

    with pytest.raises(updraft.CompileError, match="an extent has 3 parts; give one name or two"):
        updraft.compile(three)


def test_warns_of_large_squares():
    """Optimizers are often given all parameters of a model, embeddings included."""
    params = [torch.nn.Parameter(torch.empty(10_001, 2)), torch.nn.Parameter(torch.ones(8, 3))]
    with pytest.warns(UserWarning) as warned:
        updraft.optim.SOAP(params)
    (text,) = [str(warning.message) for warning in warned]
    assert text == (
        "the rule `SOAP` keeps square matrices with 2e+08 elements for a parameter of shape "
        "(10001, 2); step it with another rule, as `updraft.optim.for_model` does with embeddings"
    )
    assert warned[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_rules_without_squares_take_large_parameters():
    updraft.optim.AdamW([torch.nn.Parameter(torch.empty(10_001, 2))])
    updraft.optim.SOAP([torch.nn.Parameter(torch.empty(10_000, 2)), torch.empty(10_001)])
