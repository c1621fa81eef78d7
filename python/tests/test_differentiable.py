"""`differentiable=True`: steps that autograd follows, against those of torch."""

import pytest
import torch
from torch.autograd import gradcheck

import updraft
from updraft import optim

from .torch_training import parameters, set_gradients

F64 = torch.float64
# torch stores step counts, and values computed from them, in f32.
F32 = 1e-5
CASES = [
    ("SGD", {"lr": 0.9, "momentum": 0.9, "nesterov": True}, ["momentum_buffer"]),
    ("SGD", {"lr": 0.9, "maximize": True, "weight_decay": 0.1}, []),
    ("Adam", {"lr": 0.9, "amsgrad": True}, ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]),
    ("AdamW", {"lr": 0.9}, ["exp_avg", "exp_avg_sq"]),
    ("NAdam", {"lr": 0.9}, ["exp_avg", "exp_avg_sq", "mu_product"]),
    ("RAdam", {"lr": 0.9}, ["exp_avg", "exp_avg_sq"]),
    ("Adamax", {"lr": 0.9, "weight_decay": 0.1}, ["exp_avg", "exp_inf"]),
    ("Adagrad", {"lr": 0.9}, ["sum"]),
    ("Adadelta", {"lr": 0.9, "weight_decay": 0.1}, ["square_avg", "acc_delta"]),
    (
        "RMSprop",
        {"lr": 0.9, "centered": True, "momentum": 0.9},
        ["square_avg", "momentum_buffer", "grad_avg"],
    ),
    ("ASGD", {"lr": 0.9}, ["eta", "mu", "ax"]),
    ("Rprop", {"lr": 0.9}, ["prev", "step_size"]),
]
IDS = [f"{name}-{number}" for number, (name, _, _) in enumerate(CASES)]
SCALARS = ("mu_product", "eta", "mu")


def given_states(names, count=10.0):
    generator = torch.Generator().manual_seed(3)
    shape = {name: () if name in SCALARS else (10,) for name in names}
    states = {name: torch.rand(shape[name], generator=generator, dtype=F64) + 0.1 for name in names}
    if "square_avg" in states:  # at least the square of the average
        states["square_avg"] += 2
    for name, value in states.items():
        value.requires_grad_(name not in SCALARS)
    return {"step": torch.tensor(count, dtype=F64)} | states


def stepped(module, name, param, grad, states, options):
    """The next parameter and states, of a step with the given states."""
    param = param.clone()
    param.grad = grad
    optimizer = getattr(module, name)([param], differentiable=True, **options)
    optimizer.state[param].update(
        {key: value.clone() for key, value in states.items() if name != "SGD" or key != "step"}
    )
    optimizer.step()
    after = optimizer.state[param].values()
    return (param, *(v for v in after if isinstance(v, torch.Tensor) and v.requires_grad))


def inputs():
    generator = torch.Generator().manual_seed(4)
    tensors = [torch.rand(10, generator=generator, dtype=F64) for _ in range(2)]
    return [tensor.requires_grad_() for tensor in tensors]


@pytest.mark.parametrize("name, options, states", CASES, ids=IDS)
def test_gradients_are_those_of_finite_differences(name, options, states):
    given = given_states(states)

    def function(param, grad, *values):
        del values  # they are in the states
        return stepped(optim, name, param, grad, given, options)

    watched = [value for value in given.values() if value.requires_grad]
    assert gradcheck(function, (*inputs(), *watched))


@pytest.mark.parametrize("name, options, states", CASES, ids=IDS)
def test_values_and_gradients_are_those_of_torch(name, options, states):
    results = []
    for module in (torch.optim, optim):
        given = given_states(states)
        param, grad = inputs()
        outputs = stepped(module, name, param, grad, given, options)
        if name == "ASGD":  # torch overwrites a value that the gradient of its average needs
            outputs = outputs[:1]
        watched = [param, grad, *(value for value in given.values() if value.requires_grad)]
        total = sum((output * output).sum() for output in outputs)
        gradients = torch.autograd.grad(total, watched, allow_unused=True)
        results.append(
            [*outputs]
            + [
                torch.zeros_like(value) if gradient is None else gradient
                for value, gradient in zip(watched, gradients, strict=True)
            ]
        )
    for their, our in zip(*results, strict=True):
        torch.testing.assert_close(our, their, rtol=F32, atol=1e-9)


# torch's other classes overwrite values that gradients of later steps need, or omit some.
@pytest.mark.parametrize("name", ["Adadelta", "Adagrad", "NAdam", "RAdam"])
def test_gradients_through_steps_from_nothing(name):
    """RAdam takes both of its branches within these steps."""
    results = []
    for module in (torch.optim, optim):
        generator = torch.Generator().manual_seed(6)
        start = (torch.rand(5, generator=generator, dtype=F64) + 1).requires_grad_()
        weights = torch.rand(8, 5, generator=generator, dtype=F64) + 0.5
        param = start.clone()
        optimizer = getattr(module, name)([param], lr=0.9, differentiable=True)
        for weight in weights:
            param.grad = weight * start.square() * param.detach().clone()
            optimizer.step()
        (gradient,) = torch.autograd.grad((param * weights[0]).sum(), start)
        results.append((param.detach(), gradient))
    for their, our in zip(*results, strict=True):
        torch.testing.assert_close(our, their, rtol=F32, atol=1e-9)
        assert our.isfinite().all()


@pytest.mark.parametrize("name, options, states", CASES, ids=IDS)
def test_thirty_steps(name, options, states):
    """From nothing, with states carried over to the compiled step and back."""
    theirs, ours = (parameters(F64) for _ in range(2))
    reference = getattr(torch.optim, name)(theirs, **options)
    ours = [param.detach().clone() for param in ours]
    optimizer = getattr(optim, name)(ours, differentiable=True, **options)
    for step in range(30):
        if step in (10, 20):
            saved = optimizer.state_dict()
            optimizer = getattr(optim, name)(ours, differentiable=step == 20, **options)
            saved["param_groups"][0]["differentiable"] = step == 20
            optimizer.load_state_dict(saved)
        for params in (theirs, ours):
            set_gradients(params, step, absent={0} if step % 7 == 3 else ())
        reference.step()
        optimizer.step()
    tolerance = F32 if name == "NAdam" else 1e-9
    for their, our in zip(theirs, ours, strict=True):
        torch.testing.assert_close(our, their.detach(), rtol=tolerance, atol=tolerance)
        assert list(reference.state[their]) == list(optimizer.state[our])


@pytest.mark.parametrize(
    "name, options",
    [
        ("SGD", {"momentum": 0.9}),
        ("Adam", {}),
        ("Adam", {"amsgrad": True}),
        ("AdamW", {}),
        ("RMSprop", {}),
    ],
)
@pytest.mark.parametrize("hyper", ["lr", "weight_decay"])
def test_gradients_flow_to_hyperparameters(name, options, hyper):
    given = given_states([key for case, _, states in CASES if case == name for key in states])
    if name == "RMSprop":
        given = {key: given[key] for key in ("step", "square_avg")}

    def run(value):
        param, grad = (tensor.detach() for tensor in inputs())
        others = {"lr": 0.5} if hyper == "weight_decay" else {}
        states = {key: tensor.detach() for key, tensor in given.items()}
        options_now = options | others | {hyper: value}
        return stepped(optim, name, param, grad, states, options_now)[0]

    assert gradcheck(run, (torch.tensor(0.4, dtype=F64, requires_grad=True),))


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
@pytest.mark.parametrize("others", [[], ["lr", "weight_decay"]], ids=["alone", "with others"])
def test_gradients_flow_to_betas(name, others):
    """Through two steps; the second has the gradient of a loss after the first."""
    given = given_states(["exp_avg", "exp_avg_sq"])

    def run(*values):
        first, second, *rest = (value.clone() for value in values)
        (start, grad) = (tensor.detach() for tensor in inputs())
        options = dict(zip(others, rest, strict=True))
        param = start.clone()
        optimizer = getattr(optim, name)(
            [param], betas=(first, second), differentiable=True, **options
        )
        optimizer.state[param].update({key: value.detach().clone() for key, value in given.items()})
        param.grad = grad
        optimizer.step()
        (param.grad,) = torch.autograd.grad((param.sum() - 2).square(), param, create_graph=True)
        optimizer.step()
        return param

    numbers = {"lr": 0.01, "weight_decay": 0.9}
    values = [0.9, 0.999, *(numbers[other] for other in others)]
    assert gradcheck(run, [torch.tensor(value, dtype=F64, requires_grad=True) for value in values])


def test_a_leaf_that_requires_grad_is_refused_as_in_torch():
    messages = []
    for module in (torch.optim, optim):
        (param,) = parameters(shapes=[(3,)])
        param.grad = torch.ones(3)
        with pytest.raises(RuntimeError) as error:
            module.SGD([param], differentiable=True).step()
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_the_graph_keeps_what_was():
    """Two steps whose gradients need the old parameter and states."""
    results = []
    for module in (torch.optim, optim):
        start = torch.ones(4, dtype=F64, requires_grad=True)
        rate = torch.tensor(0.1, dtype=F64, requires_grad=True)
        param = start.clone()
        optimizer = module.AdamW([param], lr=rate, weight_decay=0.1, differentiable=True)
        for _ in range(2):
            param.grad = 3 * param.detach() + start
            optimizer.step()
        results.append(torch.autograd.grad(param.square().sum(), (start, rate)))
    for their, our in zip(*results, strict=True):
        torch.testing.assert_close(our, their, rtol=F32, atol=1e-9)


def test_complex_parameters():
    results = []
    for module in (torch.optim, optim):
        generator = torch.Generator().manual_seed(8)
        param = torch.randn(5, generator=generator, dtype=torch.complex128)
        optimizer = module.Adam([param], lr=0.1, differentiable=True)
        for _ in range(3):
            param.grad = torch.randn(5, generator=generator, dtype=torch.complex128)
            optimizer.step()
        results.append([param, optimizer.state[param]["exp_avg"]])
    for their, our in zip(*results, strict=True):
        torch.testing.assert_close(our, their, rtol=F32, atol=F32)


def test_complex_parameters_of_rules_by_rows_are_refused():
    param = torch.ones(3, 4, dtype=torch.complex64)
    with pytest.raises(updraft.UnsupportedError, match="they are stepped as pairs of numbers"):
        updraft.optimizer("RowwiseAdagrad", [{"params": [param], "differentiable": True}])


def test_states_without_a_step_count_are_refused():
    param = torch.ones(2)
    optimizer = optim.AdamW([param], differentiable=True)
    param.grad = torch.ones(2)
    optimizer.step()
    del optimizer.state[param]["step"]
    before = param.clone()
    with pytest.raises(updraft.InvalidArgumentError) as error:
        optimizer.step()
    assert str(error.value) == (
        "parameter 0 has the state `exp_avg` but no `step`; give it all of its states, or none"
    )
    assert param.equal(before)
