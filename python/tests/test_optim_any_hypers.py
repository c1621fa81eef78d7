"""Hyperparameters that constructors refuse: torch doesn't check later values, and uses any."""

import math
from typing import NamedTuple

import pytest
import torch
from torch.optim import lr_scheduler

import updraft
from updraft import optim

from .torch_training import assert_close, parameters, set_gradients

SHAPES = [(9, 4), (5,), (3, 2, 2)]
NAN = math.nan
STEPS = 5


class Case(NamedTuple):
    """A class, the groups' values after the first step, and options from the beginning."""

    name: str
    change: dict
    options: dict = {}  # noqa: RUF012

    @property
    def text(self):
        values = [f"{key}={value}" for key, value in (self.options | self.change).items()]
        return "-".join([self.name, *values]).replace(" ", "")


def of_betas(name):
    values = [(22.0, 0.999), (-0.5, 0.999), (NAN, 0.999), (0.9, -0.5), (0.9, NAN)]
    return [Case(name, {"betas": betas}) for betas in values]


CASES = [
    Case("SGD", {"lr": -0.1}),
    Case("SGD", {"lr": NAN}),
    Case("SGD", {"weight_decay": -0.5}),
    Case("SGD", {"momentum": -0.5}),
    Case("SGD", {"momentum": -0.5}, {"momentum": 0.9}),
    Case("SGD", {"momentum": NAN}, {"momentum": 0.9}),
    Case("SGD", {"momentum": 1.5}, {"momentum": 0.9}),
    Case("SGD", {"dampening": NAN}, {"momentum": 0.9}),
    Case("SGD", {"nesterov": True}),
    Case("SGD", {"nesterov": True, "momentum": -0.5}, {"momentum": 0.9}),
    Case("SGD", {"dampening": 0.5}, {"momentum": 0.9, "nesterov": True}),
    Case("SGD", {"momentum": 0.0}, {"momentum": 0.9, "nesterov": True}),
    *of_betas("Adam"),
    *of_betas("AdamW"),
    *of_betas("Adamax"),
    *of_betas("NAdam"),
    *of_betas("RAdam"),
    *(
        Case(name, {hyper: value})
        for name in ("Adam", "AdamW", "Adamax", "NAdam", "RAdam", "Adagrad", "Adadelta", "RMSprop")
        for hyper, value in (("lr", -1e-2), ("eps", -1e-3), ("weight_decay", -0.1), ("lr", NAN))
    ),
    Case("NAdam", {"betas": (0.9, 1.5)}),
    Case("NAdam", {"momentum_decay": -1.0}),
    Case("Adagrad", {"lr_decay": -0.1}),
    Case("Adadelta", {"rho": 1.5}),
    Case("RMSprop", {"alpha": 1.5}),
    Case("RMSprop", {"alpha": -0.5}),
    Case("RMSprop", {"momentum": -1.0}),
    Case("RMSprop", {"momentum": -1.0}, {"momentum": 0.1}),
    Case("Rprop", {"etas": (1.5, 1.2)}),
    Case("Rprop", {"etas": (0.5, 0.8)}),
    Case("Rprop", {"step_sizes": (1.0, 1e-3)}),
    Case("ASGD", {"lr": -0.1}),
    Case("ASGD", {"alpha": -0.5}),
    Case("ASGD", {"lambd": -0.1}),
    Case("ASGD", {"weight_decay": -0.1}),
    Case("Adafactor", {"lr": -0.1}),
    Case("Adafactor", {"lr": math.inf}),
    Case("Adafactor", {"d": 0.5}),
    Case("Adafactor", {"weight_decay": -1.0}),
    Case("Adafactor", {"eps": (0.0, 1e-3)}),
    Case("Muon", {"lr": -0.1}),
    Case("Muon", {"weight_decay": -0.1}),
    Case("Muon", {"momentum": -0.5}),
    Case("Muon", {"momentum": NAN}),
]
with_cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)


def stepped(module, case, dtype, steps=STEPS, **options):
    """The parameters after some steps; the first step has the options from the beginning."""
    params = parameters(dtype, SHAPES[:1] if case.name == "Muon" else SHAPES)
    if module is torch.optim and case.name != "Muon":
        options["foreach"] = False
    optimizer = getattr(module, case.name)(params, **case.options, **options)
    for step in range(steps):
        if step == 1:
            optimizer.param_groups[0].update(case.change)
        set_gradients(params, step)
        optimizer.step()
    return params


def assert_alike(theirs, ours):
    """Asserts the same values, with NaN in the same places."""
    for their, our in zip(theirs, ours, strict=True):
        assert their.isnan().equal(our.isnan())
        their.data.nan_to_num_(0)
        our.data.nan_to_num_(0)
    assert_close(theirs, ours, 4 * STEPS)


@pytest.mark.parametrize(
    ("case", "dtype"),
    [
        pytest.param(case, dtype, id=f"{case.text}-{name}")
        for case in CASES
        for name, dtype in (("f32", torch.float32), ("f64", torch.float64))
        # torch multiplies NAdam's momenta in f32 for all dtypes of parameters.
        if (case.name, name) != ("NAdam", "f64")
    ],
)
def test_steps_of_any_values(case, dtype):
    assert_alike(stepped(torch.optim, case, dtype), stepped(optim, case, dtype))


@with_cases
def test_steps_on_a_device(case, monkeypatch):
    expected = stepped(optim, case, torch.float32)
    monkeypatch.setattr(optim.devices, "is_emulated", lambda tensor: True)
    for there, here in zip(stepped(optim, case, torch.float32), expected, strict=True):
        torch.testing.assert_close(there, here, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize(
    "case",
    [
        Case("SGD", {"lr": -0.1}),
        Case("SGD", {"momentum": -0.5}, {"momentum": 0.9}),
        Case("SGD", {"momentum": -0.5}),
        Case("SGD", {"nesterov": True}),
        Case("Adam", {"betas": (22.0, 0.999)}),
        Case("RMSprop", {"momentum": -1.0}),
    ],
    ids=lambda case: case.text,
)
def test_steps_through_torch(case):
    """Steps of subclasses that intercept operators, and steps that autograd follows."""
    expected = stepped(torch.optim, case, torch.float64)
    params = [
        param.detach().clone().requires_grad_() for param in parameters(torch.float64, SHAPES)
    ]
    copies = [param.clone() for param in params]
    optimizer = getattr(optim, case.name)(copies, **case.options, differentiable=True)
    for step in range(STEPS):
        if step == 1:
            optimizer.param_groups[0].update(case.change)
        set_gradients(copies, step)
        optimizer.step()
    assert_alike(expected, [param.detach() for param in copies])


@pytest.mark.parametrize("length", [5, 7, 10, 13, 50])
@pytest.mark.parametrize("start", [1.0, 0.5, 1 / 3, 0.1, 0.7, 0.9, 1e-3, 0.3])
def test_a_rate_that_falls_to_zero_and_by_rounding_below(start, length):
    def trained(module):
        params = parameters(shapes=[(3,)])
        optimizer = module.SGD(params, lr=0.1)
        schedule = lr_scheduler.LinearLR(
            optimizer, start_factor=start, end_factor=0.0, total_iters=length
        )
        for step in range(length + 3):
            set_gradients(params, step)
            optimizer.step()
            schedule.step()
        return params

    assert_close(trained(torch.optim), trained(optim), length)


def past_zero(optimizer):
    return lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / 5)


def cyclic(optimizer):
    return lr_scheduler.CyclicLR(
        optimizer, 1.0, 5.0, 4, 1, mode="triangular", base_momentum=1.5, max_momentum=5.0
    )


def one_cycle(optimizer):
    return lr_scheduler.OneCycleLR(
        optimizer, 0.1, total_steps=10, base_momentum=1.5, max_momentum=3.0
    )


@pytest.mark.parametrize("schedule", [past_zero, cyclic, one_cycle], ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_schedules_out_of_the_range_of_constructors(name, schedule):
    def trained(module):
        params = parameters(torch.float64, SHAPES)
        options = {"momentum": 0.9} if name == "SGD" else {}
        optimizer = getattr(module, name)(params, lr=0.1, foreach=False, **options)
        scheduler = schedule(optimizer)
        for step in range(9):
            set_gradients(params, step)
            optimizer.step()
            scheduler.step()
        return params

    assert_close(trained(torch.optim), trained(optim), 20)


#: With these, torch divides by zero in Python, which raises.
DIVISIONS = [
    Case("Adam", {"betas": (1.0, 0.999)}),
    Case("AdamW", {"betas": (1.0, 0.999)}),
    Case("Adamax", {"betas": (1.0, 0.999)}),
    Case("RAdam", {"betas": (0.9, 1.0)}),
    Case("Adafactor", {"d": 0.0}),
]
RATE = {"lr": torch.tensor(0.1)}


@pytest.mark.parametrize(
    "case",
    [
        *DIVISIONS,
        Case("RAdam", {"betas": (0.9, 1.0)}, RATE),
        Case("Adafactor", {"d": 0.0}, RATE),
    ],
    ids=lambda case: case.text,
)
def test_where_torch_divides_by_zero(case):
    for module in (torch.optim, optim):
        with pytest.raises(ZeroDivisionError, match=r"^float division by zero$"):
            stepped(module, case, torch.float32)


@pytest.mark.parametrize("case", DIVISIONS, ids=lambda case: case.text)
def test_nothing_is_divided_without_a_gradient(case):
    for module in (torch.optim, optim):
        params = parameters(shapes=SHAPES)
        optimizer = getattr(module, case.name)(params)
        optimizer.param_groups[0].update(case.change)
        for _ in range(2):
            optimizer.step()
        assert not optimizer.state
        params[0].grad = torch.ones_like(params[0])
        with pytest.raises(ZeroDivisionError, match=r"^float division by zero$"):
            optimizer.step()
        params[0].grad = None
        optimizer.step()


@pytest.mark.parametrize("name", ["Adam", "AdamW", "Adamax"])
@pytest.mark.parametrize(
    ("change", "options"),
    [({"betas": (1.0, 0.999)}, RATE), ({"betas": tuple(torch.tensor([1.0, 0.999]))}, {})],
    ids=["rate", "betas"],
)
def test_tensors_divide_by_zero(name, change, options):
    case = Case(name, change, options)
    theirs = stepped(torch.optim, case, torch.float32)
    assert not any(param.isfinite().any() for param in theirs)
    assert_alike(theirs, stepped(optim, case, torch.float32))


@pytest.mark.parametrize("name", ["Adamax", "RAdam"])
def test_differentiable_steps_that_divide_by_zero_in_python(name):
    (case,) = (case for case in DIVISIONS if case.name == name)
    for module in (torch.optim, optim):
        (param,) = parameters(shapes=[(3,)])
        copy = param.clone()
        optimizer = getattr(module, name)([copy], differentiable=True)
        optimizer.param_groups[0].update(case.change)
        copy.grad = torch.ones(3)
        with pytest.raises(ZeroDivisionError, match=r"^float division by zero$"):
            optimizer.step()


def test_nothing_is_stepped_where_python_divides_by_zero():
    params = parameters(shapes=SHAPES)
    optimizer = optim.Adam([{"params": params[:1]}, {"params": params[1:], "lr": 0.1}])
    set_gradients(params, 0)
    before = [param.detach().clone() for param in params]
    optimizer.param_groups[1]["betas"] = (1.0, 0.9)
    with pytest.raises(ZeroDivisionError):
        optimizer.step()
    assert all(param.equal(kept) for param, kept in zip(params, before, strict=True))


@pytest.mark.parametrize("flag", ["capturable", "differentiable"])
def test_steps_in_tensors_divide_by_zero(flag):
    (param,) = parameters(shapes=[(3,)])
    stepped = param.clone() if flag == "differentiable" else param
    optimizer = optim.Adam([stepped], betas=(0.9, 0.999), **{flag: True})
    optimizer.param_groups[0]["betas"] = (1.0, 0.999)
    stepped.grad = torch.ones(3)
    optimizer.step()
    assert not stepped.isfinite().any()


class TestRules:
    """Optimizers of rules: only their constructors check, like torch's."""

    def test_constructors_refuse(self):
        with pytest.raises(ValueError, match=r"^Invalid learning rate: -1\.0$"):
            optim.Lion(parameters(), lr=-1.0)
        with pytest.raises(ValueError, match=r"^hyperparameter `lr` is NaN$"):
            updraft.optimizer(updraft.load("Lion"), parameters(), lr=NAN)
        first, *others = parameters()
        with pytest.raises(ValueError, match=r"^Invalid learning rate: -2\.0$"):
            optim.Lion([{"params": first}, {"params": others, "lr": -2.0}])
        with pytest.raises(ValueError, match=r"^Invalid learning rate: -1\.0$"):
            updraft.optimizer(updraft.load("SGD"), parameters(), lr=-1.0, momentum=0.9)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: [torch.nn.Parameter(torch.ones(3, device="meta"))],
            lambda: [torch.nn.LazyLinear(3).weight],
            lambda: [],
        ],
        ids=["meta", "lazy", "empty"],
    )
    def test_constructors_check_groups_that_nothing_steps(self, make):
        refused = [
            ("Lion", {"lr": -1.0}, r"Invalid learning rate: -1\.0"),
            ("Lion", {"lr": NAN}, "hyperparameter `lr` is NaN"),
            # A flag is derived from it.
            ("SGD", {"momentum": -0.5}, r"Invalid momentum value: -0\.5"),
        ]
        for name, options, text in refused:
            rule = updraft.load(name)
            with pytest.raises(ValueError, match=f"^{text}$"):
                updraft.optimizer(rule, [{"params": parameters()}, {"params": make(), **options}])
            with pytest.raises(ValueError, match=f"^{text}$"):
                updraft.optimizer(rule, [{"params": make()}], **options)
        optimizer = updraft.optimizer(updraft.load("SGD"), [{"params": make()}], momentum=0.5)
        assert optimizer.param_groups[0]["momentum"] == 0.5

    def test_steps_take_any_value(self):
        params = parameters(shapes=SHAPES)
        before = [param.detach().clone() for param in params]
        optimizer = optim.Lion(params, lr=0.5)
        optimizer.param_groups[0]["lr"] = -0.5
        set_gradients(params, 0)
        optimizer.step()
        for param, kept in zip(params, before, strict=True):
            assert param.equal(kept + 0.5 * param.grad.sign())

    def test_hyperparameters_that_determine_flags_are_checked(self):
        params = parameters(shapes=SHAPES)
        optimizer = updraft.optimizer(updraft.load("SGD"), params, lr=0.5)
        set_gradients(params, 0)
        before = [param.detach().clone() for param in params]
        for momentum, text in ((-0.5, r"Invalid momentum value: -0\.5"), (NAN, ".*NaN")):
            optimizer.param_groups[0]["momentum"] = momentum
            with pytest.raises(ValueError, match=f"^{text}$"):
                optimizer.step()
        assert all(param.equal(kept) for param, kept in zip(params, before, strict=True))
        # For any other values.
        optimizer.param_groups[0] |= {"lr": -1.0, "momentum": 0.5}
        optimizer.step()
        assert list(optimizer.state[params[0]]) == ["step", "momentum_buffer"]

    def test_a_pure_function_takes_no_flag_of_another_value(self):
        step = updraft.load("SGD").to_torch()
        param, grad = torch.ones(3), torch.ones(3)
        with pytest.raises(updraft.CompileError, match=r"Invalid momentum value: -0\.5"):
            step([param], [grad], momentum=-0.5)
        (new,), _ = step([param], [grad], lr=-0.5)
        assert new.tolist() == [1.5] * 3
