"""Steps of all classes as in torch's own tests; `torch_cases.md` has the mapping."""

import inspect
import math
from functools import partial

import pytest
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from updraft import optim

from .torch_table import INFOS, Model, configurations, ours

with_infos = pytest.mark.parametrize("info", INFOS, ids=lambda info: info.name)
SPARSE = [info for info in INFOS if info.supports_sparse or info.only_supports_sparse_grads]
COMPLEX = [info for info in INFOS if info.supports_complex]
# LBFGS accepts only one group.
WITH_GROUPS = [info for info in INFOS if not info.step_requires_closure]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def go_on(schedulers, loss):
    for scheduler in schedulers:
        if isinstance(scheduler, ReduceLROnPlateau):
            scheduler.step(loss)
        else:
            scheduler.step()


def assert_went(model, before, options):
    after = model.loss().item()
    assert after > before if options.get("maximize") else after < before


@pytest.mark.parametrize("contiguous", [True, False], ids=["contiguous", "gaps"])
@with_infos
def test_losses_fall_or_with_maximize_rise(info, contiguous):
    for options in configurations(info):
        model = Model(info, contiguous)
        before = model.loss().item()
        optimizer = ours(info)(model.params, **options)
        for _ in range(20):
            model.step(optimizer)
        assert_went(model, before, options)


@with_infos
def test_losses_fall_with_schedules(info):
    for schedule in info.scheduler_inputs:
        model = Model(info)
        before = model.loss().item()
        optimizer = ours(info)(model.params)
        schedulers = [make(optimizer) for make in schedule]
        for _ in range(20):
            go_on(schedulers, model.step(optimizer))
        assert_went(model, before, {})


@pytest.mark.parametrize(
    ("info", "schedule"),
    [
        pytest.param(info, schedule, id=f"{info.name}-{number}")
        for info in WITH_GROUPS
        for number, schedule in enumerate(info.scheduler_inputs)
    ],
)
def test_groups_with_schedules_are_those_of_torch(info, schedule):
    def trained(kind):
        models = [Model(info, seed=seed) for seed in (0, 1)]
        groups = [{"params": models[0].params}, {"params": models[1].params, "lr": 0.01}]
        optimizer = kind(groups)
        schedulers = [make(optimizer) for make in schedule]
        for _ in range(10):
            loss = sum(model.backward() for model in models)
            optimizer.step()
            go_on(schedulers, loss.detach())
        return [param.detach() for model in models for param in model.params]

    for mine, its in zip(trained(ours(info)), trained(info.optim_cls), strict=True):
        torch.testing.assert_close(mine, its, **CLOSE)


@pytest.mark.parametrize("dimensions", [0, 1, 2])
@with_infos
def test_rates_in_tensors_of_one_element(info, dimensions):
    rate = 1.0 if info.step_requires_closure else 1e-3
    for options in configurations(info):
        plain, other = Model(info), Model(info)
        as_tensor = torch.tensor(rate).reshape([1] * dimensions)
        one = ours(info)(plain.params, **options | {"lr": rate})
        two = ours(info)(other.params, **options | {"lr": as_tensor})
        for _ in range(3):
            plain.step(one)
            other.step(two)
            for param, same in zip(plain.params, other.params, strict=True):
                torch.testing.assert_close(param, same, **CLOSE)


def rosenbrock(point):
    x, y = point
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def coordinate(param, index):
    """The gradient of one coordinate, in two parts with the same index."""
    (grad,) = torch.autograd.grad(rosenbrock(param), param)
    parts = torch.stack([grad[index] / 4, grad[index] - grad[index] / 4])
    return torch.sparse_coo_tensor(torch.tensor([[index, index]]), parts, (2,))


@pytest.mark.parametrize("info", SPARSE, ids=lambda info: info.name)
def test_coordinates_in_turn_by_gradients_that_are_not_coalesced(info):
    updates, _ = info.metadata_for_sparse
    for options in configurations(info, tensors=False):
        given = {key: value for key, value in options.items() if key not in updates} | {
            key: value for key, value in updates.items() if key == "lr"
        }
        points = [torch.nn.Parameter(torch.tensor([1.5, 1.5])) for _ in range(2)]
        optimizers = [
            kind([point], **given)
            for kind, point in zip((info.optim_cls, ours(info)), points, strict=True)
        ]
        start = rosenbrock(points[1]).item()
        for step in range(60):
            for point, optimizer in zip(points, optimizers, strict=True):
                point.grad = coordinate(point, step % 2)
                optimizer.step()
        torch.testing.assert_close(points[1], points[0], rtol=1e-3, atol=1e-4)
        end = rosenbrock(points[1]).item()
        assert end > start if given.get("maximize") else end < start


def complex_params():
    generator = torch.Generator().manual_seed(2)
    shapes = [((10, 5), torch.complex64), ((10,), torch.complex64), ((10, 5), torch.float32)]
    return [torch.randn(shape, generator=generator, dtype=dtype) for shape, dtype in shapes]


def as_pairs(tensor):
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


@pytest.mark.parametrize("info", COMPLEX, ids=lambda info: info.name)
def test_complex_numbers_are_pairs_of_real_ones(info):
    for options in configurations(info):
        params = [param.requires_grad_() for param in complex_params()]
        pairs = [as_pairs(param.detach()).clone().requires_grad_() for param in params]
        optimizers = [ours(info)(each, **options) for each in (params, pairs)]
        for step in range(3):
            calls = []
            for each, optimizer in zip((params, pairs), optimizers, strict=True):
                generator = torch.Generator().manual_seed(step)
                seen = []

                def closure(each=each, generator=generator, seen=seen):
                    seen.append([as_pairs(param.detach()).clone() for param in each])
                    for param in each:
                        grad = torch.randn(as_pairs(param).shape, generator=generator)
                        param.grad = torch.view_as_complex(grad) if param.is_complex() else grad
                    return torch.randn((), generator=generator)

                if info.step_requires_closure:
                    optimizer.step(closure)
                else:
                    closure()
                    optimizer.step()
                calls.append(seen)
            torch.testing.assert_close(*calls)
        for param, pair in zip(params, pairs, strict=True):
            torch.testing.assert_close(as_pairs(param), pair)


@pytest.mark.parametrize(
    "info",
    # LBFGS sums over all numbers, here in another order, which its search amplifies.
    [info for info in COMPLEX if not info.step_requires_closure],
    ids=lambda info: info.name,
)
def test_a_complex_vector_beside_its_two_parts(info):
    for options in configurations(info):
        generator = torch.Generator().manual_seed(3)
        start = torch.randn(2, generator=generator, dtype=torch.complex64)
        whole = start.clone().requires_grad_()
        parts = [part.clone().requires_grad_() for part in (start.real, start.imag)]
        optimizers = [ours(info)(given, **options) for given in ([whole], parts)]
        values = partial(torch.clone, whole), partial(torch.complex, *parts)
        for _ in range(3):
            for optimizer, value in zip(optimizers, values, strict=True):
                optimizer.zero_grad()
                rosenbrock(value()).abs().backward()
                optimizer.step()
            torch.testing.assert_close(torch.complex(*parts), whole, rtol=1e-4, atol=1e-5)


FUSED = [info for info in INFOS if "fused" in info.supported_impls]


@pytest.mark.parametrize("info", FUSED, ids=lambda info: info.name)
def test_parameters_on_meta(info):
    """A fused step refuses gradients there; without gradients it does nothing."""
    for kind in (info.optim_cls, ours(info)):
        model = torch.nn.Linear(2, 3, device="meta")
        optimizer = kind(model.parameters(), fused=True)
        for param in model.parameters():
            param.grad = torch.rand_like(param)
        with pytest.raises(RuntimeError):
            optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        # The module gets other parameters.
        model.to_empty(device="cpu")
        for param in model.parameters():
            param.grad = torch.ones_like(param)
        optimizer.step()


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("info", FUSED, ids=lambda info: info.name)
def test_nothing_is_stepped_where_an_infinity_was_found(info, scaled):
    for options in configurations(info):
        params = [torch.ones(1) for _ in range(5)]
        for param in params:
            param.grad = torch.ones(1)
        optimizer = ours(info)(params, fused=True, **options)
        optimizer.grad_scale = torch.ones(1) if scaled else None
        optimizer.found_inf = torch.ones(())
        optimizer.step()
        assert all(param.item() == 1 for param in params)
        for state in optimizer.state.values():
            assert state.get("step", torch.zeros(())).item() == 0
        optimizer.found_inf = torch.zeros(())
        optimizer.step()
        assert not any(param.item() == 1 for param in params)


@pytest.mark.parametrize("info", WITH_GROUPS, ids=lambda info: info.name)
def test_a_decay_of_each_group(info):
    decays = "weight_decay" in inspect.signature(info.optim_cls).parameters
    for options in configurations(info):
        groups = [options, options | ({"weight_decay": 0.0} if decays else {})]
        both = []
        for kind in (info.optim_cls, ours(info)):
            models = [Model(info, seed=seed) for seed in (0, 1)]
            optimizer = kind(
                [{"params": each.params, **more} for each, more in zip(models, groups, strict=True)]
            )
            for _ in range(20):
                for model in models:
                    model.backward()
                optimizer.step()
            both.append(models)
        for model, other in zip(*both, strict=True):
            torch.testing.assert_close(other.params, model.params, **CLOSE)
        for seed, model in enumerate(both[1]):
            assert_went(model, Model(info, seed=seed).loss().item(), options)


@pytest.mark.parametrize("info", WITH_GROUPS, ids=lambda info: info.name)
def test_a_rate_of_each_group(info):
    for options in configurations(info):
        if options.get("lr", 0) == 0:
            options["lr"] = 1e-3
        model, still = Model(info), Model(info, seed=1)
        before, kept = model.loss().item(), [param.detach().clone() for param in still.params]
        outer = {"step_sizes": (0, 50)} if info.name == "Rprop" else {}
        optimizer = ours(info)(
            [{"params": model.params, **options}, {"params": still.params}], lr=1e-28, **outer
        )
        for _ in range(20):
            model.backward()
            still.backward()
            optimizer.step()
        assert_went(model, before, options)
        torch.testing.assert_close([param.detach() for param in still.params], kept)


def constant():
    return torch.ones(1)


@with_infos
def test_parameters_without_gradients_stay(info):
    for options in configurations(info):
        params = [torch.randn(2, 3) for _ in range(2)]
        kept = [param.clone() for param in params]
        optimizer = ours(info)(params, **options)
        optimizer.step(constant)
        assert all(map(torch.equal, params, kept))
        assert not any(
            "step" in state for state in optimizer.state.values() if info.name != "Adagrad"
        )


@with_infos
def test_gradients_of_zeros_change_nothing(info):
    for options in configurations(info):
        if options.get("weight_decay", 0) != 0 or "lambd" in options:
            continue
        if info.name in ("AdamW", "Muon"):  # these decay by default
            options["weight_decay"] = 0.0
        param = torch.randn(5, 1, requires_grad=True)
        kept = param.detach().clone()
        optimizer = ours(info)([param], **options)
        if info.only_supports_sparse_grads:
            param.grad = torch.sparse_coo_tensor(torch.empty(1, 0), torch.empty(0, 1), (5, 1))
        else:
            param.grad = torch.zeros_like(param)
        optimizer.step(constant)
        torch.testing.assert_close(param.detach(), kept)


@with_infos
def test_states_are_filled_and_gradients_keep_their_versions(info):
    for options in configurations(info):
        model = Model(info)
        optimizer = ours(info)(model.params, **options)
        model.backward()
        before = [param.grad._version for param in model.params]
        values = [param.grad.clone() for param in model.params]
        for _ in range(5):
            optimizer.step(constant)
            assert all(optimizer.state.values())
        assert [param.grad._version for param in model.params] == before
        for param, value in zip(model.params, values, strict=True):
            assert param.grad.to_dense().equal(value.to_dense())


class TestLBFGS:
    def test_a_step_returns_a_tensor_wherever_it_ends(self):
        results = []
        for tolerance in (math.inf, -math.inf):
            params = [torch.randn(10, 5), torch.randn(10)]
            optimizer = optim.LBFGS(params, tolerance_grad=tolerance)
            results.append(type(optimizer.step(lambda: torch.tensor([10.0]))))
        assert results == [torch.Tensor, torch.Tensor]

    def test_evaluations_of_one_move(self):
        counts = []
        for module in (torch.optim, optim):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Conv2d(4, 2, 1, stride=2), torch.nn.BatchNorm2d(2))
            inputs = torch.rand(1, 4, 16, 16)
            optimizer = module.LBFGS(
                model.parameters(), max_iter=1, max_eval=5, line_search_fn="strong_wolfe"
            )
            evaluated = []

            def closure(model=model, inputs=inputs, optimizer=optimizer, evaluated=evaluated):
                evaluated.append(1)
                optimizer.zero_grad()
                loss = model(inputs).sum()
                loss.backward()
                return loss

            optimizer.step(closure)
            counts.append(len(evaluated))
        assert counts == [6, 6]
