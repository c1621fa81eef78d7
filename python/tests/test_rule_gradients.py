"""Gradients through steps of torch operations: finite, and equal to finite differences."""

import math

import pytest
import torch

import updraft
from updraft import lang

from .rules_in_torch import IN_TORCH

F64 = torch.float64
STEPS = 20
SHAPES = [(3, 4), (5,)]


def inputs():
    generator = torch.Generator().manual_seed(11)

    def numbers():
        return [torch.randn(shape, generator=generator, dtype=F64) for shape in SHAPES]

    return numbers(), [numbers() for _ in range(STEPS)], numbers()


def loss_after(step, hypers, param_scale, grad_scale, count=STEPS):
    """A weighted sum of parameters after some steps, and of their states."""
    params, grads, weights = inputs()
    params, state = [param * param_scale for param in params], None
    for given in grads[:count]:
        params, state = step(params, [grad * grad_scale for grad in given], state, **hypers)
    return sum((param * weight).sum() for param, weight in zip(params, weights, strict=True))


def tensor(value):
    return torch.tensor(value, dtype=F64, requires_grad=True)


def is_differentiable(value):
    return math.isfinite(value)


def gradients(step, hypers, count=STEPS):
    scales = {"param_scale": tensor(1.0), "grad_scale": tensor(1.0)}
    watched = {name: tensor(value) for name, value in hypers.items() if is_differentiable(value)}
    loss = loss_after(step, {**hypers, **watched}, **scales, count=count)
    given = {**scales, **watched}
    found = torch.autograd.grad(loss, list(given.values()), allow_unused=True)
    return {
        name: 0.0 if gradient is None else gradient.item()
        for name, gradient in zip(given, found, strict=True)
    }


@pytest.mark.parametrize("name", IN_TORCH)
def test_gradients_are_finite_after_any_number_of_steps(name):
    definition = updraft.load(name)
    step = definition.to_torch()
    for count in (1, 2, 3, 5, STEPS):
        found = gradients(step, dict(definition.hypers), count)
        assert all(map(math.isfinite, found.values())), (count, found)


def ordinary(name, value):
    """A value far from any branch, such as a nonzero weight decay."""
    if not math.isfinite(value):
        return value
    if value == 0:
        return 7.5 if "warmup" in name else 0.01
    return max(0.9 * value, 0.01) if value > 0 else 0.9 * value


# If a step count is rounded or compared, finite differences don't work.
@pytest.mark.parametrize("name", IN_TORCH)
def test_gradients_are_those_of_finite_differences(name):
    definition = updraft.load(name)
    # Differences are too small for states in f32.
    step = definition.to_torch(storage=dict.fromkeys(definition.states, "f64"))
    hypers = {key: ordinary(key, value) for key, value in definition.hypers.items()}
    found = gradients(step, hypers)
    for key, gradient in found.items():
        given = {"param_scale": 1.0, "grad_scale": 1.0, **hypers}
        value = given[key]
        delta = 1e-5 * abs(value)
        losses = []
        for moved in (value - delta, value + delta):
            given[key] = moved
            losses.append(loss_after(step, **split(given)).item())
        difference = (losses[1] - losses[0]) / (2 * delta)
        assert gradient == pytest.approx(difference, rel=2e-5, abs=2e-7 / max(value, 1e-3)), key


def split(given):
    scales = {key: given[key] for key in ("param_scale", "grad_scale")}
    return {"hypers": {key: given[key] for key in given if key not in scales}, **scales}


@pytest.mark.parametrize("name", ["RAdam", "Prodigy", "ScheduleFreeSGD", "ScheduleFreeAdamW"])
def test_a_meta_optimizer_whose_rule_chooses(name):
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3))
    module.double()
    given, wanted = torch.randn(16, 4, dtype=F64), torch.randn(16, 3, dtype=F64)

    def loss_after_steps(rate):
        inner = updraft.MetaOptimizer(module, name, lr=rate)
        for _ in range(12):
            inner.step((inner(given) - wanted).square().mean())
        return (inner(given) - wanted).square().mean()

    rate = tensor(0.05)
    slopes = torch.autograd.grad(loss_after_steps(rate), [rate, *module.parameters()])
    assert all(slope.isfinite().all() for slope in slopes)
    delta = 1e-6
    losses = [loss_after_steps(torch.tensor(0.05 + by, dtype=F64)) for by in (-delta, delta)]
    difference = (losses[1] - losses[0]).item() / (2 * delta)
    assert slopes[0].item() == pytest.approx(difference, rel=1e-4)


# Each rule has a subexpression without a finite derivative in the branch that isn't taken.


@updraft.rule
def root(param, grad, lr=1):
    return param - lr * lang.where(grad > 0, lang.sqrt(grad), 0)


@updraft.rule
def quotient(param, grad, lr=1):
    return param - lr * lang.where(grad == 0, 1, lang.tanh(grad) / grad)


@updraft.rule
def chained(param, grad, lr=1):
    inner = lang.where(grad > 1, lang.log(grad), lang.sqrt(grad) / (1 - grad))
    return param - lr * lang.where((grad > 0) & (grad != 1), inner, grad)


@updraft.rule
def looked_at(param, grad, lr=1):
    """The condition depends on the chosen value."""
    inverse = 1 / grad
    return param - lr * lang.where(lang.abs(inverse) < 5, inverse, 0)


@updraft.rule
def on_both_sides(param, grad, lr=1):
    power = lang.pow(lang.abs(grad), 0.5)
    return param - lr * lang.where(grad > 1, 2 * power, lang.where(grad < -1, power * grad, grad))


@updraft.rule
def of_results(param, grad, lr=1):
    """A value from one branch controls another branch."""
    inverse = 1 / grad
    first = lang.where(grad > 0.5, inverse, 0)
    return param - lr * (first + lang.where(first > 1.5, inverse * inverse, 0))


@updraft.rule
def larger(param, grad, lr=1):
    return param - lr * lang.max(lang.sqrt(lang.abs(grad)), 0.25)


@updraft.rule
def smaller(param, grad, lr=1):
    return param - lr * lang.clamp(1 / lang.square(grad), -1, lang.abs(grad) + 1)


@updraft.rule
def largest(param, grad, lr=1):
    return param - lr * lang.max(lang.sqrt(lang.abs(grad)))


@updraft.rule
def overflowing(param, grad, lr=1):
    return param - lr * lang.where(grad < 3, lang.exp(300 * grad * grad), grad)


@updraft.rule
def only_finite(param, grad, lr=1):
    moved = grad + 0.5
    return param - lang.where(lang.isfinite(grad), lr * moved * moved, 0)


@updraft.rule
def scaled_down(param, grad, lr=1, limit=1):
    norm = lang.norm(grad)
    return param - lr * grad * lang.where(norm > limit, limit / norm, 1)


@updraft.rule
def at_most(param, grad, lr=1, limit=1):
    return param - lr * grad * lang.min(1, limit / lang.norm(grad))


@updraft.rule
def by_rows(param, grad, matrix, lr=1):
    divided = lang.where(param > 0.3, grad / lang.row_norm(grad), grad)
    return param - lr * lang.where(matrix, divided, grad)


@updraft.rule
def by_any(param, grad, lr=1, limit=0):
    """A scalar that some elements use."""
    return param - lr * lang.where(grad > 100, 1 / limit, lang.sqrt(lr)) * grad


@updraft.rule
def skipping(param, grad, state, lr=1):
    lang.skip_when(~lang.isfinite(lang.norm(grad)))
    state["seen"] = state.setdefault("seen", 0) + grad * grad
    return param - lr * grad / (lang.sqrt(state["seen"]) + 1)


CASES = {
    "root": (root, [0.0, -1, 2, 4], {}),
    "quotient": (quotient, [0.0, -1, 2, 0.5], {}),
    "chained": (chained, [0.0, 1, -2, 0.25, 3], {}),
    "looked at": (looked_at, [0.0, 0.1, -0.5, 3], {}),
    "on both sides": (on_both_sides, [0.0, 2, -3, 0.5], {}),
    "of results": (of_results, [0.0, 0.6, 0.8, -1, 0.25], {}),
    "larger": (larger, [0.0, 1, -4, 0.01], {}),
    "smaller": (smaller, [0.0, 2, -4, 0.01], {}),
    "largest": (largest, [0.0, 1, -4, 0.5], {}),
    "overflowing": (overflowing, [0.0, 10, 0.1], {}),
    "only finite": (only_finite, [math.inf, 1, -math.inf, math.nan, 2], {}),
    "scaled down by no limit": (scaled_down, [1.0, -2, 0.5], {"limit": math.inf}),
    "scaled down": (scaled_down, [1.0, -2, 0.5], {}),
    "nothing scaled down": (scaled_down, [0.0, 0, 0], {}),
    "at most": (at_most, [1.0, -2, 0.5], {}),
    "at most infinite": (at_most, [1.0, -2, 0.5], {"limit": math.inf}),
    "at most of nothing": (at_most, [0.0, 0, 0], {}),
    "by rows": (by_rows, [[0.0, 0, 0], [1, 2, -1]], {}),
    "by any": (by_any, [1.0, -2, 0.5], {}),
    "skipping": (skipping, [1.0, math.inf, 0.5], {}),
    "not skipping": (skipping, [1.0, 3, 0.5], {}),
}


# Gradients close to a branch, where the rule's value or its derivative is discontinuous.
NO_DERIVATIVE = {
    "root": (0,),
    "chained": (0, 1),
    "quotient": (0,),
    "nothing scaled down": (0,),
    "at most of nothing": (0,),
    "by rows": (0,),
}


@pytest.mark.parametrize("case", CASES)
def test_the_branch_not_taken_has_no_gradient(case):
    definition, values, hypers = CASES[case]
    grad = torch.tensor(values, dtype=F64)
    param = torch.linspace(-0.4, 1, grad.numel(), dtype=F64).reshape(grad.shape)
    step = definition.to_torch()

    def stepped(grad, lr):
        (after,), state = step([param], [grad], lr=lr, **hypers)
        (after,), _ = step([after], [grad], state, lr=lr, **hypers)
        return after

    # The values are those of the rule.
    rule = definition.compile(storage={"param": "f64", "grad": "f64"})
    compiled = param.clone()
    optimizer = updraft.ArrayOptimizer(rule, [compiled], lr=0.75, **hypers)
    for _ in range(2):
        optimizer.step([grad])
    torch.testing.assert_close(
        stepped(grad, 0.75), compiled, rtol=1e-15, atol=1e-15, equal_nan=True
    )

    watched = grad.clone().requires_grad_()
    rate = tensor(0.75)
    after = stepped(watched, rate)
    weights = torch.linspace(1, 2, grad.numel(), dtype=F64).reshape(grad.shape)
    slopes = torch.autograd.grad((after * weights).sum(), (watched, rate), create_graph=True)
    assert all(slope.isfinite().all() for slope in slopes), slopes
    delta = 1e-7
    for index in grad.flatten().isfinite().nonzero().flatten().tolist():
        if grad.flatten()[index].item() in NO_DERIVATIVE.get(case, ()):
            continue
        ends = []
        for by in (-delta, delta):
            moved = grad.clone()
            moved.view(-1)[index] += by
            ends.append((stepped(moved, 0.75) * weights).sum())
        difference = ((ends[1] - ends[0]) / (2 * delta)).item()
        assert slopes[0].flatten()[index].item() == pytest.approx(difference, rel=1e-5, abs=1e-6)
    ends = [(stepped(grad, 0.75 + by) * weights).sum() for by in (-delta, delta)]
    difference = ((ends[1] - ends[0]) / (2 * delta)).item()
    assert slopes[1].item() == pytest.approx(difference, rel=1e-5, abs=1e-6)

    # Branches that weren't taken don't affect second derivatives either.
    seconds = torch.autograd.grad(
        sum(slope.sum() for slope in slopes if slope.requires_grad),
        (watched, rate),
        allow_unused=True,
    )
    assert all(second is None or second.isfinite().all() for second in seconds), seconds


def test_a_guarded_step_is_one_graph_and_maps():
    step = skipping.to_torch()
    params, grads = torch.ones(4, 3), torch.tensor([[1.0, 2, 3]]).repeat(4, 1)
    (expected,), _ = step([params], [grads])
    compiled = torch.compile(step, backend="eager", fullgraph=True)
    (found,), _ = compiled([params], [grads])
    assert torch.equal(found, expected)
    mapped = torch.func.vmap(lambda param, grad: step([param], [grad])[0][0])(params, grads)
    (single,), _ = step([params[0]], [grads[0]])
    assert torch.equal(mapped[0], single)
