"""State dicts, hooks and copies as in torch's own tests; see `torch_cases.md`."""

import copy
import io

import pytest
import torch
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from updraft import optim

from .torch_table import INFOS, Model, configurations, ours

with_infos = pytest.mark.parametrize("info", INFOS, ids=lambda info: info.name)
named_or_not = pytest.mark.parametrize("named", [False, True], ids=["numbered", "named"])


def assert_equal(one, other):
    if isinstance(one, dict):
        assert list(one) == list(other)
        for key, value in one.items():
            assert_equal(value, other[key])
    elif isinstance(one, list | tuple):
        assert type(one) is type(other)
        for value, same in zip(one, other, strict=True):
            assert_equal(value, same)
    elif isinstance(one, torch.Tensor):
        torch.testing.assert_close(one, other, rtol=0, atol=0)
    else:
        assert one == other


def given_params(model, named):
    return model.named() if named else model.params


def trained(info, options, named=False, steps=3):
    model = Model(info)
    optimizer = ours(info)(given_params(model, named), **options)
    for _ in range(steps):
        model.step(optimizer)
    return model, optimizer


def without_names(state_dict):
    groups = [
        {key: value for key, value in group.items() if key != "param_names"}
        for group in state_dict["param_groups"]
    ]
    return {"state": state_dict["state"], "param_groups": groups}


@pytest.mark.parametrize("then_named", [False, True], ids=["numbered", "named"])
@named_or_not
@with_infos
def test_a_copy_goes_on_alike(info, named, then_named):
    for options in configurations(info):
        model, optimizer = trained(info, options, named)
        other = Model(info)
        with torch.no_grad():
            for param, value in zip(other.params, model.params, strict=True):
                param.copy_(value)
        copied = ours(info)(given_params(other, then_named), **copy.deepcopy(options))
        copied.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        for _ in range(5):
            model.step(optimizer)
            other.step(copied)
            for param, same in zip(model.params, other.params, strict=True):
                assert param.equal(same)
        assert_equal(without_names(optimizer.state_dict()), without_names(copied.state_dict()))
        names = copied.state_dict()["param_groups"][0].get("param_names")
        known = [name for name, _ in model.named()] if named or then_named else None
        assert names == known
        # A group that is listed twice looks the same both times.
        copied.param_groups.extend(copied.param_groups)
        first, last = (without_names(each.state_dict()) for each in (optimizer, copied))
        assert_equal(first["param_groups"][-1], last["param_groups"][-1])


@with_infos
def test_options_that_older_files_lack(info):
    for options in configurations(info):
        model, optimizer = trained(info, options)
        saved = copy.deepcopy(optimizer.state_dict())
        for group in saved["param_groups"]:
            for flag in info.not_og_supported_flags:
                group.pop(flag, None)
        optimizer.load_state_dict(saved)
        model.step(optimizer)


@named_or_not
@with_infos
def test_files_of_weights_only(info, named):
    for options in configurations(info):
        _, optimizer = trained(info, options, named)
        saved = optimizer.state_dict()
        file = io.BytesIO()
        torch.save(saved, file)
        for weights_only in (False, True):
            file.seek(0)
            assert_equal(torch.load(file, weights_only=weights_only), saved)


@with_infos
def test_step_counts_that_are_numbers(info):
    for options in configurations(info):
        model, optimizer = trained(info, options)
        saved = copy.deepcopy(optimizer.state_dict())
        for state in saved["state"].values():
            if isinstance(state.get("step"), torch.Tensor):
                state["step"] = state["step"].item()
        optimizer.load_state_dict(saved)
        model.step(optimizer)
        for state in optimizer.state.values():
            if info.name != "LBFGS":
                assert "step" not in state or int(state["step"]) == 4


def test_the_decay_of_adam_and_adamw_is_an_option_of_a_file():
    params = torch.nn.Linear(5, 5).parameters
    of_adamw, of_adam = optim.AdamW(params()).state_dict(), optim.Adam(params()).state_dict()
    assert of_adam["param_groups"][0]["decoupled_weight_decay"] is False
    older = copy.deepcopy(of_adamw)
    del older["param_groups"][0]["decoupled_weight_decay"]
    for kind, saved in (
        (optim.Adam, of_adamw),
        (optim.AdamW, of_adam),
        (optim.AdamW, older),
    ):
        optimizer = kind(params())
        optimizer.load_state_dict(copy.deepcopy(saved))
        assert optimizer.param_groups[0]["decoupled_weight_decay"] is True


class TestHooks:
    @with_infos
    def test_hooks_of_saving(self, info):
        for options in configurations(info):
            optimizer = ours(info)([torch.rand(2, 3, requires_grad=True)], **options)

            def enter(optimizer):
                optimizer.state["entered"] = 1

            def take_out(optimizer, saved):
                saved["was there"] = saved["state"].pop("entered", None)
                return saved

            after = optimizer.register_state_dict_post_hook(take_out)
            assert optimizer.state_dict()["was there"] is None
            optimizer.register_state_dict_pre_hook(enter)
            saved = optimizer.state_dict()
            assert saved["was there"] == 1
            assert "entered" not in saved["state"]
            after.remove()
            assert optimizer.state_dict()["state"]["entered"] == 1

    @with_infos
    def test_hooks_of_loading_and_their_order(self, info):
        for options in configurations(info):
            optimizer = ours(info)([torch.rand(2, 3, requires_grad=True)], **options)
            saved = optimizer.state_dict()

            def in_place(optimizer, given):
                given["param_groups"][0]["lr"] = 0.002

            def another(optimizer, given):
                given = copy.deepcopy(given)
                given["param_groups"][0]["lr"] = 0.003
                return given

            def loaded(optimizer):
                optimizer.state["rate"] = optimizer.param_groups[0]["lr"]

            optimizer.register_load_state_dict_post_hook(loaded)
            optimizer.load_state_dict(copy.deepcopy(saved))
            assert optimizer.state["rate"] == saved["param_groups"][0]["lr"]
            second = optimizer.register_load_state_dict_pre_hook(another)
            optimizer.load_state_dict(copy.deepcopy(saved))
            assert optimizer.state["rate"] == 0.003
            optimizer.register_load_state_dict_pre_hook(in_place)
            optimizer.load_state_dict(copy.deepcopy(saved))
            assert optimizer.state["rate"] == 0.002
            second.remove()
            optimizer.register_load_state_dict_pre_hook(another, prepend=True)
            optimizer.load_state_dict(copy.deepcopy(saved))
            assert optimizer.state["rate"] == 0.002

    @with_infos
    def test_hooks_of_steps_and_their_order(self, info):
        for options in configurations(info):
            params = [torch.ones(1, 2)]
            first, second = ours(info)(params, **options), optim.SGD(params)
            called = []

            def says(word, called=called):
                return lambda optimizer, args, kwargs: called.append(word)

            handles = [
                register_optimizer_step_pre_hook(says("all, before")),
                register_optimizer_step_post_hook(says("all, after")),
                *(each.register_step_pre_hook(says("before")) for each in (first, second)),
                *(each.register_step_post_hook(says("after")) for each in (first, second)),
            ]
            once = ["all, before", "before", "after", "all, after"]
            try:
                for count, optimizer in enumerate((first, second, first), start=1):
                    optimizer.step(lambda: 1)
                    assert called == once * count
            finally:
                for handle in handles:
                    handle.remove()
            for optimizer in (first, second):
                optimizer.step(lambda: 1)
            assert called == once * 3


class TestCopies:
    @with_infos
    def test_copies_have_the_same_attributes(self, info):
        for options in configurations(info):
            _, optimizer = trained(info, options)
            names, copied = (
                {name for name in vars(each) if not name.startswith("_")}
                for each in (optimizer, copy.deepcopy(optimizer))
            )
            assert names == copied

    @with_infos
    def test_texts_are_those_of_torch(self, info):
        for options in configurations(info):
            model = Model(info)
            mine, its = (kind(model.params, **options) for kind in (ours(info), info.optim_cls))
            assert repr(mine) == repr(its)
