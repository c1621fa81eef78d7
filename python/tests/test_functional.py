"""Rules as out-of-place operations of torch: the values of compiled steps, and their gradients."""

import numpy
import pytest
import torch

import updraft
from updraft import lang

from .conftest import MOMENTUM
from .rules_in_torch import IN_TORCH

SHAPES = [(3, 4), (5,), (2, 3, 2), (), (1, 1)]  # wide, tall and square matrices, and vectors
STATIC = [
    ("AdamW", {"amsgrad": True, "maximize": True}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    ("RMSprop", {"centered": True, "momentum": 0.9}),
]


def make_tensors(seed, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) for shape in SHAPES
    ]


def compare_steps(definition, dtype, tolerance, count=5, defaults=None):
    expected = make_tensors(0, dtype)
    found = [param.clone() for param in expected]
    step = definition.to_torch(defaults=defaults)
    storage = {"param": dtype, "grad": dtype}
    optimizer = updraft.ArrayOptimizer(
        definition.compile(defaults=defaults, storage=storage), expected
    )
    state = None
    for index in range(count):
        grads = make_tensors(index + 1, dtype)
        optimizer.step(grads)
        before = [param.clone() for param in found]
        found_next, state = step(found, grads, state)
        assert all(map(torch.equal, before, found)), "a step changed its argument"
        found = found_next
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == dtype and a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
    for index, states in state["params"].items():
        for name, values in optimizer.state(index).items():
            kept = states[name] if name in states else state["group"][name]
            assert tuple(kept.shape) == values.shape or values.size == 1
            numpy.testing.assert_allclose(
                kept.double().numpy().reshape(values.shape),
                values.astype("float64"),
                rtol=tolerance,
                atol=tolerance,
            )


@pytest.mark.parametrize("name", IN_TORCH)
def test_steps_are_those_of_the_compiled_rule(name):
    compare_steps(updraft.load(name), torch.float64, 1e-12)


@pytest.mark.parametrize("name, defaults", STATIC)
def test_static_arguments(name, defaults):
    compare_steps(updraft.load(name), torch.float64, 1e-12, defaults=defaults)


@pytest.mark.parametrize("name", ["AdamW", "Lion", "Adafactor"])
def test_single_precision(name):
    compare_steps(updraft.load(name), torch.float32, 1e-5)


def test_bf16_is_computed_in_f32():
    compare_steps(updraft.load("AdamW"), torch.bfloat16, 1e-2)


@pytest.mark.parametrize(
    "chain",
    [
        ["clip_by_global_norm(max_norm=0.5)", "AdamW"],
        ["clip_by_global_norm(max_norm=0.5)", "Adafactor"],
        ["clip_by_value(0.1)", "SGD", "ema_of_weights"],
    ],
    ids=" |> ".join,
)
def test_chains(chain):
    compare_steps(updraft.chain(*chain), torch.float64, 1e-12)


@updraft.rule
def by_shape(param, grad, matrix, lr=0.1):
    of_matrix = lang.where(lang.rows(param) < lang.columns(param), 2 * lang.row_sum(grad), grad)
    return param - lr * lang.where(matrix, of_matrix, 4 * grad)


def test_a_rule_that_depends_on_the_shape_of_a_matrix():
    compare_steps(by_shape, torch.float64, 1e-12)


@updraft.rule
def guarded(param, grad, state, lr=0.1):
    """Skips steps with large gradients, by their maximum and their norm over the group."""
    lang.skip_when(lang.norm(grad) > 2.5)
    average = lang.lerp(state.setdefault("average", 0), grad, 0.5)
    state["average"] = average
    largest = lang.max(lang.abs(grad))
    return param - lr * average / (largest + lang.global_norm(grad))


def test_skipped_steps_leave_all_as_it_is():
    compare_steps(guarded, torch.float64, 1e-12)
    step = guarded.to_torch()
    params = [torch.zeros(3, dtype=torch.float64)]
    _, state = step(params, [torch.full((3,), 9.0, dtype=torch.float64)])
    assert state["params"][0]["step"] == 0
    _, state = step(params, [torch.full((3,), 0.1, dtype=torch.float64)], state)
    assert state["params"][0]["step"] == 1


def test_parameters_without_gradient_stay():
    step = updraft.load("AdamW").to_torch()
    params = {"a": torch.ones(2), "b": torch.ones(3)}
    found, state = step(params, {"a": torch.ones(2), "b": None}, lr=0.1)
    assert found["b"] is params["b"]
    assert not torch.equal(found["a"], params["a"])
    assert [*state["params"]] == ["a"]
    same, same_state = step(params, {"a": None, "b": None}, state)
    assert same == params
    assert same_state == state


@pytest.mark.parametrize(
    "name, hypers", [("SGD", {"momentum": 0.9}), ("AdamW", {}), ("Lion", {}), ("Adafactor", {})]
)
def test_gradients_through_two_steps(name, hypers):
    step = updraft.load(name).to_torch(defaults=hypers)
    slope = torch.linspace(0.5, 1.5, 6, dtype=torch.float64).reshape(2, 3)

    def two_steps(param, lr):
        state = None
        for _ in range(2):
            (grad,) = torch.autograd.grad((slope * param**2).sum(), param, create_graph=True)
            (param,), state = step([param], [grad], state, lr=lr)
        return param

    param = torch.linspace(-1, 2, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
    lr = torch.tensor(0.05, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(two_steps, (param, lr))


@pytest.mark.parametrize("name", ["SGD", "RMSprop", "Signum"])
def test_flags_that_follow_from_hyperparameters(name):
    step = updraft.load(name).to_torch()
    chosen = updraft.load(name)(momentum=0.9).to_torch()
    for momentum in (0.9, torch.tensor(0.9, dtype=torch.float64, requires_grad=True), 0.0):
        found, expected = ([torch.ones(3)], None), ([torch.ones(3)], None)
        for _ in range(3):
            found = step(found[0], [torch.ones(3)], found[1], momentum=momentum)
            expected = chosen(expected[0], [torch.ones(3)], expected[1], momentum=momentum)
        assert torch.equal(found[0][0], expected[0][0])
        assert ("momentum_buffer" in found[1]["params"][0]) == bool(momentum)
    assert "momentum_buffer" in step.initial(torch.ones(3), momentum=0.9)
    assert "momentum_buffer" not in step.initial(torch.ones(3), momentum=0)
    # The two values of the flag give two modules, regardless of other values.
    for momentum in (0.1, 0.2, 0.0):
        step([torch.ones(3)], [torch.ones(3)], momentum=momentum)
    assert len(step._compiled[torch.float32].modules) == 2

    model = torch.nn.Linear(1, 1, bias=False)
    inner = updraft.MetaOptimizer(model, name, lr=0.1, momentum=0.9)
    inner.step(inner(torch.ones(1, 1)).sum())
    assert "momentum_buffer" in inner.state["params"]["weight"]


def test_a_flag_that_takes_other_hyperparameters_than_the_defaults():
    nesterov = updraft.load("SGD").to_torch(defaults={"nesterov": True})
    both = updraft.load("SGD").to_torch(defaults={"nesterov": True, "momentum": 0.9})
    ones = [torch.ones(3)]
    for hypers in ({"momentum": 0.9, "lr": 0.25}, {"momentum": 0.9}, {"momentum": 0.5}):
        found, _ = nesterov(ones, ones, **hypers)
        expected, _ = both(ones, ones, **hypers)
        assert torch.equal(found[0], expected[0])
    with pytest.raises(updraft.CompileError, match="Nesterov momentum requires a momentum"):
        updraft.load("SGD").to_torch(defaults={"nesterov": True})(ones, ones)


def test_meta_optimizer_takes_static_arguments():
    module = torch.nn.Linear(3, 1, bias=False)
    hypers = {"lr": 0.1, "momentum": 0.9, "nesterov": True}
    inner = updraft.MetaOptimizer(module, "SGD", **hypers)
    expected = torch.nn.Parameter(module.weight.detach().clone())
    optimizer = torch.optim.SGD([expected], **hypers)
    for _ in range(3):
        inner.step(inner(torch.ones(3)).square().sum())
        optimizer.zero_grad()
        (expected @ torch.ones(3)).square().sum().backward()
        optimizer.step()
    torch.testing.assert_close(inner.params["weight"], expected)


def test_no_operation_is_in_place():
    for name in IN_TORCH:
        text = updraft.load(name).to_torch_source()
        assert ".item(" not in text
        assert not [line for line in text.splitlines() if "_(" in line.replace("reduce_", "")]


def test_torch_compile_captures_a_step_as_one_graph():
    step = updraft.load("AdamW").to_torch()
    compiled = torch.compile(step, backend="eager", fullgraph=True)
    params, grads = make_tensors(0), make_tensors(1)
    expected, state = step(params, grads)
    expected, _ = step(expected, grads, state)
    found, state = compiled(params, grads, None)
    found, _ = compiled(found, grads, state)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)


def test_invalid_arguments_are_refused():
    step = updraft.compile(MOMENTUM)
    assert "def step(params, grads, states, group, hyper)" in step.emit("torch")
    step = updraft.load("SGD").to_torch()
    tensors = [torch.ones(2)]
    with pytest.raises(updraft.InvalidArgumentError) as error:
        step(tensors, tensors, rate=1)
    assert str(error.value) == (
        "`SGD` has no hyperparameter `rate`; there are `lr`, `momentum`, `dampening`, "
        "`weight_decay`"
    )
    with pytest.raises(updraft.InvalidArgumentError) as error:
        step(tensors, tensors, nesterov=True)
    assert str(error.value) == (
        "`nesterov` is a static argument of `SGD`, which calls cannot change; give it to "
        "`to_torch`: `defaults={'nesterov': …}`"
    )
    with pytest.raises(updraft.InvalidArgumentError) as error:
        step(tensors, [])
    assert str(error.value) == (
        "there are 1 parameters and 0 gradients; give one for each, in a container of the same kind"
    )

    @updraft.rule
    def noisy(param, grad, lr=0.1):
        return param - lr * grad * lang.random()

    with pytest.raises(updraft.UnsupportedError) as error:
        noisy.to_torch()(tensors, tensors)
    assert "cannot write the rule with torch's operations: torch has no counterpart of " in str(
        error.value
    )
    blocks = updraft.load("AdamW").to_torch(storage={"state": "q8_linear"})
    with pytest.raises(updraft.UnsupportedError) as error:
        blocks(tensors, tensors)
    assert str(error.value) == (
        "cannot write the rule with torch's operations: torch has no storage of state `exp_avg` in"
        " blocks or codes"
    )


def test_meta_optimizer_learns_a_learning_rate():
    torch.manual_seed(0)
    module = torch.nn.Linear(3, 1, dtype=torch.float64)
    inputs, targets = (
        torch.randn(16, 3, dtype=torch.float64),
        torch.randn(16, 1, dtype=torch.float64),
    )

    def loss_after(lr):
        inner = updraft.MetaOptimizer(module, updraft.load("SGD"), lr=lr)
        for _ in range(3):
            inner.step((inner(inputs) - targets).square().mean())
        return (inner(inputs) - targets).square().mean()

    lr = torch.tensor(0.05, dtype=torch.float64, requires_grad=True)
    loss = loss_after(lr)
    (slope,) = torch.autograd.grad(loss, lr, retain_graph=True)
    delta = 1e-5
    difference = (loss_after(lr.detach() + delta) - loss_after(lr.detach() - delta)) / (2 * delta)
    torch.testing.assert_close(slope, difference.detach(), rtol=1e-6, atol=1e-9)
    (weight,) = torch.autograd.grad(loss, module.weight)
    assert weight.abs().sum() > 0


@updraft.rule
def counted(param, grad, state, lr=0.1):
    """Has a state of the group, and skips steps of some tensors."""
    lang.skip_when(lang.norm(grad) > 2)
    total = state.setdefault("total", 0, over="group") + lang.global_norm(grad)
    state["total"] = total
    return param - lr * grad / total


def test_a_state_of_the_group_is_not_for_some_tensors():
    with pytest.raises(updraft.UnsupportedError) as error:
        counted.to_torch_source()
    assert str(error.value) == (
        "cannot write the rule with torch's operations: a step that some tensors skip cannot"
        " change states over the group"
    )


@updraft.rule
def elements(param, grad, state, step, lr=0.1, power=1.5):
    smooth = lang.exp(-lang.abs(grad)) + lang.log(1 + lang.square(grad)) + lang.tanh(grad)
    stepped = lang.floor(grad * 3) - lang.ceil(grad / 3) + lang.sign(grad)
    raised = lang.pow(lang.abs(grad) + 0.5, power) + lang.pow(grad, 3) + lang.pow(2, step / 7)
    chosen = lang.where(
        (grad > 0.5) | ~(param >= 0) & (grad != param), lang.clamp(grad, -0.2, 0.4), 0.5
    )
    finite = lang.where(
        lang.isfinite(grad) & ~lang.isnan(param),
        1,
        lang.where(grad <= 0, 2, 3),
    )
    early = lang.where((step == 1) | (step > 3), 0.25, 0.75)
    fused = lang.fma(grad, param, smooth)
    return param - lr * early * (smooth + stepped + raised + chosen * finite + fused)


@updraft.rule
def places(param, grad, state, matrix, lr=0.1):
    over = lang.max(lang.abs(grad)) + lang.mean(grad) + lang.rms(param) + lang.dot(grad, param)
    group = (
        lang.group_max(lang.abs(grad))
        + lang.group_mean(grad)
        + lang.group_dot(grad, param) / lang.group_size()
    )
    again = lang.group_sum(grad / (1 + lang.square(group)))
    count = state.setdefault("count", 1, over="tensor") + again
    state["count"] = count
    if_matrix = (
        lang.row_max(grad)
        + lang.column_max(grad)
        + lang.batch_max(grad)
        + lang.row_norm(grad) * lang.column_norm(param)
    )
    rows = state.setdefault("rows", lr, over="row", when=matrix)
    state["rows"] = lang.lerp(rows, lang.row_mean(grad), 0.5)
    columns = state.setdefault("columns", 0, over="column", when=matrix)
    state["columns"] = lang.lerp(columns, 1, 0.5)
    return param - lr * grad * (
        over + group + again + lang.where(matrix, if_matrix + rows + columns, 1) + count
    )


@pytest.mark.parametrize("rule", [elements, places], ids=lambda rule: rule.name)
def test_every_operation(rule):
    compare_steps(rule, torch.float64, 1e-12)


@pytest.mark.parametrize("name", ["AdamW", "Adafactor", "Prodigy"])
def test_scalars_go_with_tensors_of_another_device(name):
    """Follows torch's rules for devices of results, so no such device is needed."""
    step = updraft.load(name).to_torch()
    with torch._subclasses.FakeTensorMode():
        params = [torch.empty(shape, device="cuda") for shape in SHAPES]
        found, state = step(params, params)
        found, state = step(found, params, state)
    assert all(param.device.type == "cuda" for param in found)
    for states in state["params"].values():
        assert all(kept.device.type == "cuda" for kept in states.values() if kept.dim() > 0)
