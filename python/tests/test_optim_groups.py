"""Changes of parameter groups between steps."""

import copy

import pytest
import torch

import updraft
from updraft import optim

from .torch_training import assert_close, parameters, set_gradients

SHAPES = [(9,), (4, 2)]


def train(optimizer, params, changes, steps=6):
    """Takes steps; in the middle, updates each group with its entry of `changes`."""
    for step in range(steps):
        if step == steps // 2:
            for group, change in zip(optimizer.param_groups, changes, strict=True):
                group.update(change)
        set_gradients(params, step)
        optimizer.step()


@pytest.mark.parametrize(
    ("name", "change"),
    [("SGD", {"momentum": 0.9}), ("AdamW", {"maximize": True})],
)
def test_flags_follow_what_a_group_says(name, change):
    """Flags derived from a hyperparameter, and explicit ones."""
    theirs, ours = parameters(shapes=SHAPES), parameters(shapes=SHAPES)
    reference = getattr(torch.optim, name)(theirs, lr=0.1, foreach=False)
    optimizer = updraft.optimizer(updraft.load(name), ours, lr=0.1, numerics="torch")
    for each in ((reference, theirs), (optimizer, ours)):
        train(*each, [change])
    assert_close(theirs, ours, 6)


def test_a_refused_step_changes_nothing():
    params = parameters(shapes=SHAPES)
    optimizer = optim.SGD([{"params": params[:1]}, {"params": params[1:], "lr": 0.1}], lr=0.1)
    set_gradients(params, 0)
    optimizer.step()
    before = [param.detach().clone() for param in params]
    optimizer.param_groups[1]["lr"] = "fast"
    with pytest.raises(TypeError, match="hyperparameter `lr` is <class 'str'>; give a number"):
        optimizer.step()
    assert all(param.equal(kept) for param, kept in zip(params, before, strict=True))
    optimizer.param_groups[1]["lr"] = 0.1
    optimizer.step()
    assert not any(param.equal(kept) for param, kept in zip(params, before, strict=True))


def test_parameters_in_a_tuple_are_compiled_for_once():
    params = parameters(shapes=SHAPES)
    optimizer = optim.AdamW(params)
    optimizer.param_groups[0]["params"] = tuple(params)
    set_gradients(params, 0)
    optimizer.step()
    (entry,) = optimizer._compiled
    optimizer.step()
    assert optimizer._compiled == [entry]


def test_groups_of_another_class_are_refused():
    params = parameters(shapes=SHAPES)
    given = optim.Lion(params, lr=0.1)
    set_gradients(params, 0)
    given.step()
    optimizer = updraft.optimizer(updraft.load("Lion"), params)
    optimizer.load_state_dict(given.state_dict())
    with pytest.raises(updraft.InvalidArgumentError) as error:
        optimizer.step()
    assert str(error.value) == (
        "cannot read the hyperparameter `beta1` from `beta1` of a parameter group with `lr` = 0.1, "
        "`betas` = (0.9, 0.99), `weight_decay` = 0.0; load a `state_dict` of the same class"
    )
    with pytest.raises(updraft.InvalidArgumentError) as error:
        optim.Lion(params, betas=(0.9,))
    assert str(error.value).startswith(
        "cannot read the hyperparameter `beta2` from element 1 of `betas` of a parameter group with"
    )


def test_a_norm_to_clip_to_is_checked_at_each_step():
    params = parameters(shapes=SHAPES)
    optimizer = optim.with_clipping(optim.SGD(params), max_norm=1.0)
    optimizer.max_grad_norm = -1.0
    set_gradients(params, 0)
    with pytest.raises(updraft.InvalidArgumentError, match=r"^Invalid max_norm: -1\.0$"):
        optimizer.step()


def test_rules_have_no_counterpart():
    with pytest.raises(TypeError) as error:
        optim.convert(updraft.optimizer(updraft.load("AdamW"), parameters()))
    assert str(error.value) == (
        "torch has no counterpart of `RuleOptimizer`; only classes of `updraft.optim` can have one"
    )


@pytest.mark.parametrize("name", ["AdamW", "Muon", "Lion"])
@pytest.mark.parametrize(
    ("choice", "value"),
    [
        ("storage", {"exp_avg": "bf16"}),
        ("numerics", "fast"),
        ("probes", ["grad_norm"]),
        ("probe_every", 2),
    ],
)
def test_choices_of_the_whole_optimizer_in_a_group_are_warned_of(name, choice, value):
    params = parameters(shapes=[(4, 2), (4, 2)])
    text = f"`{choice}`, which only the constructor reads, for all groups; give it to the"
    with pytest.warns(UserWarning, match=text) as caught:
        optimizer = getattr(optim, name)([{"params": params[:1], choice: value}])
    assert [each.filename for each in caught] == [__file__]
    with pytest.warns(UserWarning, match=text):
        optimizer.add_param_group({"params": params[1:], choice: value})


@pytest.mark.filterwarnings("error")
def test_the_storage_in_a_checkpoint_is_not_warned_of():
    params = parameters(shapes=SHAPES)
    optimizer = optim.Lion(params, storage={"exp_avg": "q8_linear"})
    set_gradients(params, 0)
    optimizer.step()
    saved = optimizer.state_dict()
    assert "storage" in saved["param_groups"][0]
    optimizer.load_state_dict(saved)
    copy.deepcopy(optimizer).step()


@pytest.mark.filterwarnings("error")
def test_a_rule_may_have_a_hyperparameter_with_the_name_of_a_choice():
    @updraft.rule
    def r(param, grad, probes=0.5):
        return param - probes * grad

    params = parameters(shapes=SHAPES)
    updraft.optimizer(r, [{"params": params, "probes": 0.1}])
