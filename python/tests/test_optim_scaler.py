"""`torch.amp.GradScaler` with hooks, subclasses and failed steps: beside torch's default steps."""

import pytest
import torch

from updraft import optim


def one_step(optimizer, param, loss):
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale(loss(param)).backward()
    scaler.step(optimizer)
    scaler.update()
    return param.detach().clone()


def clip(optimizer, *_):
    torch.nn.utils.clip_grad_norm_(optimizer.param_groups[0]["params"], 1.0)


def with_hook(optim):
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = optim.SGD([param], lr=1.0)
    optimizer.register_step_pre_hook(clip)
    return optimizer, param


def with_own_step(optim):
    class Clipped(optim.SGD):
        def step(self, closure=None):
            clip(self)
            return super().step(closure)

    param = torch.nn.Parameter(torch.ones(3))
    return Clipped([param], lr=1.0), param


@pytest.mark.parametrize("make", [with_hook, with_own_step])
@pytest.mark.parametrize("factor", [5.0, float("inf")])
def test_gradients_are_unscaled_for_hooks_and_subclasses(make, factor):
    results = [
        one_step(*make(module), lambda p: p.sum() * factor) for module in (optim, torch.optim)
    ]
    assert torch.equal(*results)


def test_hooks_do_not_run_if_the_scaler_skips_the_step():
    optimizer, param = with_hook(optim)
    calls = []
    optimizer.register_step_post_hook(lambda *_: calls.append(1))
    one_step(optimizer, param, lambda p: p.sum() * float("inf"))
    assert not calls
    assert param.tolist() == [1.0] * 3


def test_scaled_step_without_hooks_divides_by_the_scale():
    param = torch.nn.Parameter(torch.ones(3))
    assert one_step(optim.SGD([param], lr=0.5), param, torch.sum).tolist() == [0.5] * 3


def test_failed_scaled_step_leaves_no_scale():
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = optim.SGD([param], lr=1.0)
    param.grad = torch.ones(3)
    optimizer.grad_scale, optimizer.found_inf = torch.tensor(1024.0), torch.tensor(0.0)
    optimizer.param_groups[0]["lr"] = "fast"
    with pytest.raises(TypeError, match="hyperparameter `lr`"):
        optimizer.step()
    optimizer.param_groups[0]["lr"] = 1.0
    optimizer.step()
    assert param.tolist() == [0.0] * 3


def test_scaled_step_without_gradients_does_nothing():
    param = torch.nn.Parameter(torch.ones(3))
    optimizer = optim.SGD([param], lr=1.0)
    other = torch.ones(1, requires_grad=True)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(other.sum()).backward()
    scaler.step(optimizer)
    assert param.tolist() == [1.0] * 3
