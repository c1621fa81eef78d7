"""Plans of rules with products and functions of matrices, beside numpy."""

import numpy as np

import updraft


def stepped(text, gradient):
    """Returns the parameter after one step from 0."""
    param = np.zeros_like(gradient)
    updraft.ArrayOptimizer(updraft.compile(text), [param], lr=1.0).step([gradient])
    return param


def test_a_function_reads_a_state_of_rows_before_it_is_stored():
    """The first `d` is 0, so the rows keep their order."""
    text = """
rule Sorted(lr = 0.1) {
  state d over row = 0 when matrix
  state m = 0

  update(param, grad) {
    let s = if matrix then row_sum(grad * grad) else 0
    let g = if matrix then grad / (sqrt(s) + 1) else grad
    let t = if matrix then sort_rows(g, d) else g

    next m = t
    next d = s when matrix
    next param = param - lr * t
  }
}
"""
    gradient = np.array([[1, 1], [2, 2], [3, 3]], np.float32)
    lengths = np.linalg.norm(gradient, axis=1, keepdims=True)
    np.testing.assert_allclose(stepped(text, gradient), -gradient / (lengths + 1), rtol=1e-6)


def test_sweeps_read_an_early_value_before_another_one_is_stored():
    """The state `a` holds `v` until the step stores `z`, and two sweeps make matrices meanwhile."""
    text = """
rule Early(lr = 0.1) {
  state a = 0

  update(param, grad, step) {
    let n = if matrix then sqrt(sum(grad * grad)) else 1
    let v = if step == 1 then grad / n else a
    let y = if matrix then gram(v) @ v else v
    let k = if matrix then sqrt(sum(y * y)) else 1
    let z = y / k
    let m2 = exp(y / k)
    let m1 = v / k
    let p = if matrix then gram(z) @ z else z
    let r = if matrix then gram(m2) @ m2 else m2
    let q = if matrix then gram(m1) @ m1 else m1

    next a = z
    next param = param - lr * (p + q + r)
  }
}
"""
    gradient = np.random.default_rng(0).standard_normal((3, 4), np.float32)
    v = gradient.astype(np.float64) / np.linalg.norm(gradient)
    y = v @ v.T @ v
    k = np.linalg.norm(y)
    expected = -sum(m @ m.T @ m for m in (y / k, v / k, np.exp(y / k)))
    np.testing.assert_allclose(stepped(text, gradient), expected, rtol=1e-5)
