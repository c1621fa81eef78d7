"""Optimizers with gradients as arguments, against those that read `.grad`; and their registry."""

import inspect
import pickle
import threading

import pytest
import torch

import updraft
from updraft import optim
from updraft.distributed import optim as distributed

CONFIGURATIONS = {
    "Adagrad": {"lr_decay": 0.1, "initial_accumulator_value": 0.5},
    "Adam": {"amsgrad": True, "weight_decay": 0.1},
    "AdamW": {"maximize": True},
    "SGD": {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    "Adadelta": {"rho": 0.8},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Rprop": {"etas": (0.4, 1.3)},
    "Adamax": {"betas": (0.8, 0.9)},
    "NAdam": {},
    "Lion": {},
    "Prodigy": {},
}
FUNCTIONAL = ("Adagrad", "Adam", "AdamW", "SGD", "Adadelta", "RMSprop", "Rprop", "Adamax")
# Arguments of torch's functional Adagrad that its computation doesn't use.
UNUSED = {"warmup_lr_multiplier", "warmup_num_iters", "coalesce_grad"}


def parameters():
    generator = torch.Generator().manual_seed(0)
    return [torch.nn.Parameter(torch.randn(s, generator=generator)) for s in ((4, 3), (), (17,))]


def gradients(seed):
    """Gradients, with None for one parameter in every second step."""
    generator = torch.Generator().manual_seed(seed)
    found = [torch.randn(s, generator=generator) for s in ((4, 3), (), (17,))]
    if seed % 2:
        found[1] = None
    return found


def with_grads(kind, options, steps):
    params = parameters()
    optimizer = kind(params, **options)
    for seed in range(steps):
        for param, grad in zip(params, gradients(seed), strict=True):
            param.grad = grad
        optimizer.step()
    return params, optimizer.state


def assert_same(params, others):
    for param, other in zip(params, others, strict=True):
        assert torch.equal(param, other)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_step(name):
    """Has the same bits and states as the class behind it, and doesn't touch `.grad`."""
    options = CONFIGURATIONS[name]
    expected, states = with_grads(getattr(optim, name), options, 4)
    params = parameters()
    functional = getattr(distributed, f"Functional{name}")(params, **options)
    for param in params:
        param.grad = torch.full_like(param, torch.nan)
    kept = [param.grad for param in params]
    versions = [param._version for param in params]
    for seed in range(4):
        given = gradients(seed)
        copies = [None if grad is None else grad.clone() for grad in given]
        functional.step(given)
        for grad, copy in zip(given, copies, strict=True):
            assert grad is copy or torch.equal(grad, copy)
    assert_same(params, expected)
    assert all(param.grad is grad for param, grad in zip(params, kept, strict=True))
    assert [param._version - v for param, v in zip(params, versions, strict=True)] == [4, 2, 4]
    assert {*functional.state} == {p for p, q in zip(params, expected, strict=True) if q in states}
    for param, other in zip(params, expected, strict=True):
        for key, value in states.get(other, {}).items():
            torch.testing.assert_close(functional.state[param][key], value, rtol=0, atol=0)


@pytest.mark.parametrize("name", [name for name in CONFIGURATIONS if name != "Prodigy"])
def test_step_param(name):
    """Mixed with `step` in any order, and with gradients recorded around it."""
    options = CONFIGURATIONS[name]
    expected, _ = with_grads(getattr(optim, name), options, 6)
    params = parameters()
    functional = getattr(distributed, f"Functional{name}")(params, **options)
    for seed in range(6):
        given = gradients(seed)
        if seed in (1, 2, 4):
            with torch.enable_grad():
                for param, grad in zip(params, given, strict=True):
                    functional.step_param(param, grad)
        else:
            functional.step(given)
    assert_same(params, expected)
    assert all(param.is_leaf and param.requires_grad for param in params)


def test_parameters_that_are_not_in_the_list():
    expected, _ = with_grads(optim.AdamW, {"lr": 0.1}, 2)
    params = parameters()
    functional = distributed.as_functional_optim(torch.optim.AdamW, lr=0.1)
    assert type(functional) is distributed.FunctionalAdamW
    functional.step([])
    for seed in range(2):
        for param, grad in zip(params, gradients(seed), strict=True):
            functional.step_param(param, grad)
    assert_same(params, expected)


@pytest.mark.parametrize("options", [{}, {"numerics": "ieee"}], ids=["torch", "ieee"])
@pytest.mark.parametrize("kind", [torch.optim.Muon, optim.Muon, "Muon"], ids=["t", "u", "name"])
def test_matrices_that_are_not_in_the_list(kind, options):
    expected, param = (torch.nn.Parameter(torch.linspace(-1, 1, 6).view(2, 3)) for _ in range(2))
    local = optim.Muon([expected], lr=0.1, **options)
    functional = distributed.as_functional_optim(kind, lr=0.1, **options)
    functional.step([])
    for _ in range(2):
        expected.grad = torch.linspace(0, 1, 6).view(2, 3)
        local.step()
        functional.step_param(param, expected.grad)
    assert torch.equal(param, expected)


def test_hyperparameters_are_those_of_the_group():
    params = parameters()
    functional = distributed.FunctionalSGD(params, lr=0.0)
    functional.param_group["lr"] = 1.0
    functional.step([torch.ones_like(param) for param in params])
    assert_same(params, [param - 1 for param in parameters()])
    functional.param_groups[0]["lr"] = 0.5
    functional.step_param(params[0], torch.ones(4, 3))
    assert torch.equal(params[0], parameters()[0] - 1 - 0.5)


def test_states_can_be_set():
    params = parameters()
    functional = distributed.FunctionalSGD(params, lr=1.0, momentum=0.5)
    functional.state[params[2]] = {"momentum_buffer": torch.full((17,), 4.0)}
    functional.step([None, None, torch.ones(17)])
    assert torch.equal(params[2], parameters()[2] - 3)
    del functional.state[params[2]]
    assert len(functional.state) == 0
    with pytest.raises(KeyError):
        functional.state[params[2]]


def test_parameters_whose_memory_changes():
    param = torch.nn.Parameter(torch.zeros(3))
    functional = distributed.FunctionalSGD([param], lr=1.0)
    functional.step([torch.ones(3)])
    param.data = torch.full((3,), 10.0)
    functional.step([torch.ones(3)])
    assert param.tolist() == [9, 9, 9]


def test_parameters_whose_order_in_memory_changes():
    param = torch.nn.Parameter(torch.zeros(2, 2))
    functional = distributed.FunctionalSGD([param], lr=1.0)
    gradient = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    functional.step([torch.zeros(2, 2)])
    param.data = param.data.t()
    functional.step([gradient])
    assert torch.equal(param, -gradient)


def test_threads_lose_no_step():
    param = torch.nn.Parameter(torch.zeros(1000))
    functional = distributed.FunctionalSGD([param], lr=1.0)

    def steps():
        for _ in range(50):
            functional.step([torch.ones(1000)])
            functional.step_param(param, torch.ones(1000))

    threads = [threading.Thread(target=steps) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(param, torch.full((1000,), -400.0))


def test_keywords_are_those_of_torch():
    for name in FUNCTIONAL:
        functional = getattr(distributed, f"Functional{name}")
        taken = {*inspect.signature(functional).parameters}
        assert {*inspect.signature(getattr(torch.optim, name)).parameters} < taken
        of_torch = inspect.signature(distributed.registry._torchs[getattr(torch.optim, name)])
        assert {*of_torch.parameters} - taken <= UNUSED


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"^Invalid learning rate: -1$"):
        distributed.FunctionalSGD(parameters(), lr=-1)
    # Also without parameters.
    with pytest.raises(ValueError, match="Nesterov momentum requires a momentum and zero damp"):
        distributed.as_functional_optim(torch.optim.SGD, nesterov=True)
    with pytest.raises(ValueError, match=r"^Invalid nu value: 2.0$"):
        distributed.as_functional_optim(optim.QHM, nu=2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'rate'"):
        distributed.FunctionalSGD(parameters(), rate=1)
    with pytest.raises(ValueError, match=r"^`FunctionalSGD` does not support `differentiable`; "):
        distributed.FunctionalSGD(parameters(), differentiable=True)


def test_steps_take_what_constructors_refuse():
    param = torch.ones(3)
    functional = distributed.FunctionalSGD([param], lr=0.5)
    functional.param_group["lr"] = -0.5
    functional.step([torch.ones(3)])
    assert param.tolist() == [1.5] * 3
    functional.param_group["momentum"] = -1.0
    functional.step_param(param, torch.ones(3))
    functional.step_param(param, torch.ones(3))
    # The buffer is 1, then 1 - 1.
    assert param.tolist() == [2.0] * 3


def test_parameters_are_checked():
    param = torch.zeros(2)
    with pytest.raises(ValueError, match=r"^optimizer got an empty parameter list$"):
        distributed.FunctionalAdam([])
    with pytest.raises(ValueError, match=r"^parameters 0 and 1 are the same$"):
        distributed.FunctionalAdam([param, param])
    with pytest.raises(TypeError, match=r"^parameter 1 is <class 'int'>; give a tensor$"):
        distributed.FunctionalAdam([param, 3])
    with pytest.raises(TypeError, match=r"^`params` is <class 'torch.Tensor'>; give a list of"):
        distributed.FunctionalAdam(param)


def test_gradients_are_checked():
    functional = distributed.FunctionalAdam(parameters())
    message = r"^there are 2 gradients for 3 parameters; give one for each, or None$"
    with pytest.raises(ValueError, match=message):
        functional.step([None, None])
    with pytest.raises(RuntimeError, match="assign a gradient of size"):
        functional.step([torch.ones(4, 3), None, torch.ones(16)])
    assert_same(functional.param_group["params"], parameters())
    prodigy = distributed.FunctionalProdigy(parameters())
    message = "^the rule reduces over all parameters, but `step_param` steps one; call `step`$"
    for _ in range(2):
        with pytest.raises(updraft.UnsupportedError, match=message):
            prodigy.step_param(prodigy.param_group["params"][0], torch.ones(4, 3))
    assert_same(prodigy.param_group["params"], parameters())


def test_classes_of_ones_own():
    @updraft.rule
    def halving(param, grad, rate=0.5):
        return param - rate * grad

    class FunctionalHalving(distributed.FunctionalOptimizer):
        """Makes a maker of a function."""

        optimizer_class = halving

    param = torch.ones(2)
    FunctionalHalving([param], rate=0.25).step([torch.ones(2)])
    assert param.tolist() == [0.75, 0.75]
    made = distributed.as_functional_optim(halving, rate=1.0)
    made.step_param(param, torch.ones(2))
    assert param.tolist() == [-0.25, -0.25]
    assert repr(made) == "FunctionalOptimizer(0 parameters, rate=1.0)"


def test_classes_are_sent_by_their_names():
    for kind in (distributed.FunctionalAdamW, distributed.FunctionalLion):
        assert pickle.loads(pickle.dumps(kind)) is kind
    with pytest.raises(AttributeError, match="has no attribute `FunctionalLBFGS`"):
        _ = distributed.FunctionalLBFGS
    with pytest.raises(AttributeError, match="has no attribute `AdamW`"):
        _ = distributed.AdamW


@pytest.fixture
def registered():
    """Restores the maps afterwards."""
    ours = distributed.functional_optim_map
    theirs = distributed.registry.utils.functional_optim_map
    before = dict(ours), dict(theirs)
    yield ours, theirs
    for found, content in zip((ours, theirs), before, strict=True):
        found.clear()
        found.update(content)


class QHM(torch.optim.Optimizer):
    """An optimizer that steps in Python."""


class FunctionalQHM(distributed.FunctionalOptimizer):
    """The functional optimizer of QHM."""

    optimizer_class = "QHM"


def test_registering(registered):
    ours, theirs = registered
    message = (
        r"^no functional optimizer for <class '.*QHM'>: there is no compiled step for .*QHM; "
        r"`updraft.optimizer` makes one from a rule; "
        r"register one with `register_functional_optim`$"
    )
    with pytest.raises(ValueError, match=message):
        distributed.as_functional_optim(QHM)
    distributed.register_functional_optim(QHM, FunctionalQHM)
    assert ours[QHM] is theirs[QHM] is FunctionalQHM
    distributed.register_functional_optim(QHM, FunctionalQHM)
    assert distributed.as_functional_optim(QHM, nu=0.5).param_group["nu"] == 0.5
    message = (
        r"^<class '.*QHM'> already has a functional optimizer, <class '.*FunctionalQHM'>; "
        r"give `overwrite=True` to replace it$"
    )
    with pytest.raises(ValueError, match=message):
        distributed.register_functional_optim(QHM, distributed.FunctionalSGD)
    assert ours[QHM] is FunctionalQHM
    distributed.register_functional_optim(QHM, distributed.FunctionalSGD, overwrite=True)
    assert ours[QHM] is theirs[QHM] is distributed.FunctionalSGD


def test_torchs_own_entries_stay(registered):
    ours, theirs = registered
    before = theirs[torch.optim.SGD]
    distributed.register_functional_optim(torch.optim.SGD, FunctionalQHM, overwrite=True)
    assert ours[torch.optim.SGD] is FunctionalQHM
    assert theirs[torch.optim.SGD] is before


def test_the_map_of_the_class(registered):
    distributed.DistributedOptimizer.functional_optim_map[QHM] = FunctionalQHM
    made = distributed.rules.compiled_kind(QHM)([torch.zeros(1)], nu=0.5)
    assert made.rule.name == "QHM"
    assert distributed.rules.compiled_kind(FunctionalQHM)([torch.zeros(1)]).rule.name == "QHM"
