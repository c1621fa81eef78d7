"""Means and sums of results."""

import pytest
import torch

from updraft.distributed import mean_reducer, sum_reducer


def test_mean_and_sum():
    results = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 6.0])]
    assert mean_reducer(iter(results)).tolist() == [2, 4]
    assert sum_reducer(iter(results)).tolist() == [4, 8]
    assert sum_reducer([torch.tensor(2), torch.tensor(3)]).item() == 5


def test_the_mean_of_unequal_parts_is_that_of_all():
    items = torch.randn(7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    parts = items.split([2, 2, 2, 1])
    means = [part.mean(dim=0) for part in parts]
    found = mean_reducer(means, weights=[len(part) for part in parts])
    torch.testing.assert_close(found, items.mean(dim=0), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64])
def test_dtypes_stay(dtype):
    results = [torch.tensor(1, dtype=dtype), torch.tensor(4, dtype=dtype)]
    assert mean_reducer(results, weights=[2, 1]).dtype == dtype
    assert abs(mean_reducer(results, weights=[2, 1]) - 2) < 0.02


def test_gradients_flow():
    results = [torch.tensor(value, requires_grad=True) for value in (1.0, 5.0)]
    mean_reducer(results, weights=[3, 1]).backward()
    assert [result.grad.item() for result in results] == [0.75, 0.25]


@pytest.mark.parametrize("reducer", [mean_reducer, sum_reducer])
@pytest.mark.parametrize(
    ("results", "kind", "message"),
    [
        ([], ValueError, "expected one or more results, got none"),
        (
            [torch.zeros(1), 2.0],
            TypeError,
            "result 1 is of type `float`; this reducer takes tensors",
        ),
        (
            [torch.zeros(2), torch.zeros(1)],
            ValueError,
            "result 1 has the shape [1], but result 0 has [2]; this reducer takes results of one"
            " shape",
        ),
    ],
)
def test_results_that_cannot_be_reduced(reducer, results, kind, message):
    with pytest.raises(kind) as caught:
        reducer(results)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("results", "weights", "message"),
    [
        (
            [torch.zeros(1)] * 2,
            [1],
            "there are 2 results and 1 weights; give one for each",
        ),
        (
            [torch.zeros(1)] * 2,
            [0, 0],
            "the weights are [0, 0], but must be non-negative and not all 0",
        ),
        (
            [torch.zeros(1)] * 2,
            [2, -1],
            "the weights are [2, -1], but must be non-negative and not all 0",
        ),
        (
            [torch.tensor(1)],
            None,
            "expected floating-point or complex results for a mean, got `torch.int64`",
        ),
    ],
)
def test_means_that_cannot_be(results, weights, message):
    with pytest.raises(ValueError) as caught:
        mean_reducer(results, weights=weights)
    assert str(caught.value) == message
