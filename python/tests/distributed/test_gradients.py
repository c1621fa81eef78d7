"""Backward passes in one context, in a world of only this process: each counts once."""

import pytest
import torch

from updraft import distributed
from updraft.distributed import autograd


def test_sparse_gradients(in_world):
    embedding = torch.nn.Embedding(5, 2, sparse=True)
    indices = torch.tensor([1, 3, 1])

    def passes():
        with autograd.context() as context_id:
            for scale in (1, 2, 3):
                loss = scale * embedding(indices).sum()
                (found,) = autograd.grad(context_id, loss, embedding.weight)
                assert found.is_sparse
                assert found.to_dense()[:, 0].tolist() == [0, 2 * scale, 0, scale, 0]
            total = autograd.get_gradients(context_id)[embedding.weight]
            assert total.to_dense()[:, 0].tolist() == [0, 12, 0, 6, 0]
            for _ in range(2):
                autograd.backward(context_id, embedding(indices).sum())

    in_world(passes)
    assert embedding.weight.grad.is_sparse
    assert embedding.weight.grad.to_dense()[:, 0].tolist() == [0, 4, 0, 2, 0]


def test_gradients_that_are_views_of_one(in_world):
    flat = torch.ones(4, requires_grad=True)
    square = torch.ones(2, 2, requires_grad=True)
    complex_one = torch.ones((), dtype=torch.complex64, requires_grad=True)
    empty = torch.zeros(0, requires_grad=True)
    leaves = [flat, square, complex_one, empty]
    expected = [[4.0] * 4, [[4.0] * 2] * 2, 2, []]

    def passes():
        with autograd.context() as context_id:
            for _ in range(3):
                total = flat + square.view(-1)
                loss = (total * total).sum() + (complex_one * complex_one.conj()).real + empty.sum()
                found = autograd.grad(context_id, loss, leaves)
                assert [gradient.tolist() for gradient in found] == expected
            sums = autograd.get_gradients(context_id)
            assert sums[flat].tolist() == [12] * 4 and sums[square].tolist() == [[12] * 2] * 2

    in_world(passes)


def test_a_pass_that_fails_counts_nothing(in_world):
    weight = torch.ones(2, requires_grad=True)
    before = torch.ones(2, requires_grad=True)

    def refuse(_):
        raise ValueError("not this one")

    def passes():
        with autograd.context() as context_id:
            autograd.backward(context_id, (3 * before).sum())
            middle = weight * 2
            handle = middle.register_hook(refuse)
            with pytest.raises(distributed.DistributedError, match="Error on Node 0"):
                autograd.backward(context_id, (middle * before).sum())
            handle.remove()
            assert autograd.get_gradients(context_id)[before].tolist() == [3, 3]
            assert weight.grad is None and before.grad.tolist() == [3, 3]
            autograd.backward(context_id, (5 * weight * before).sum())

    in_world(passes)
    assert weight.grad.tolist() == [5, 5]
    assert before.grad.tolist() == [8, 8]
