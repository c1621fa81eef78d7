"""`storage` in `updraft.optim`: refused types, and states of optimizers with another storage."""

import pytest
import torch

from updraft import optim
from updraft.optim.buckets import Bucket
from updraft.optim.stand_ins import LocalBucket
from updraft.optim.states import ParameterState

from .torch_training import parameters, set_gradients


def assert_same(first, second):
    for one, other in zip(first.state.values(), second.state.values(), strict=True):
        assert [*one] == [*other]
        assert all(map(torch.equal, one.values(), other.values()))


def failing_at(call, error, original):
    """Returns a function that raises an error at one call."""
    calls = iter(range(1, 100))

    def function(*args):
        if next(calls) == call:
            raise error
        return original(*args)

    return function


class TestFailures:
    """An exception while states are entered, such as Ctrl-C, loses none."""

    def after_a_step(self, name="AdamW", prepare=lambda optimizer: None, **options):
        params = parameters(shapes=[(4, 5), (3, 4), (6, 2)])
        if options.get("differentiable"):
            params = [param.clone() for param in params]
        optimizer = getattr(optim, name)(params, **options)
        prepare(optimizer)
        set_gradients(params, 0)
        return optimizer

    @pytest.mark.parametrize("place", ["_shown", "of"])
    @pytest.mark.parametrize("call", [1, 2, 3])
    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    @pytest.mark.parametrize("name", ["AdamW", "Muon"])
    def test_compiled_steps(self, monkeypatch, place, call, error, name):
        kind = ParameterState if place == "of" else LocalBucket if name == "Muon" else Bucket
        optimizer, reference = self.after_a_step(name), self.after_a_step(name)
        for each in (optimizer, reference):
            each.step()
        with monkeypatch.context() as patches:
            patches.setattr(kind, place, failing_at(call, error, getattr(kind, place)))
            with pytest.raises(error):
                optimizer.state_dict()
        assert_same(optimizer, reference)

    def test_differentiable_steps(self, monkeypatch):
        optimizer, reference = (self.after_a_step(differentiable=True) for _ in range(2))
        for each in (optimizer, reference):
            each.step()
        with monkeypatch.context() as patches:
            patches.setattr(ParameterState, "of", failing_at(2, RuntimeError, ParameterState.of))
            with pytest.raises(RuntimeError):
                optimizer.state_dict()
        assert_same(optimizer, reference)

    def test_entered_states_are_not_replaced(self, monkeypatch):
        optimizer = self.after_a_step()
        optimizer.step()
        with monkeypatch.context() as patches:
            patches.setattr(ParameterState, "of", failing_at(2, RuntimeError, ParameterState.of))
            with pytest.raises(RuntimeError):
                optimizer.state_dict()
        first = dict.__getitem__(optimizer.state, optimizer.param_groups[0]["params"][0])
        first["exp_avg"] = mine = torch.zeros(4, 5)
        assert len(optimizer.state) == 3
        assert first["exp_avg"] is mine

    def test_other_parts_of_a_step(self, monkeypatch):
        """States that are entered at once, because the parameters of another group have some."""
        results = []
        for fails in (False, True):
            optimizer = self.after_a_step()
            optimizer.step()
            assert len(optimizer.state) == 3
            params = parameters(shapes=[(2, 3), (3, 4)])
            for param in params:
                optimizer.add_param_group({"params": [param]})
            set_gradients(params, 0)
            with monkeypatch.context() as patches:
                if fails:
                    patches.setattr(Bucket, "_shown", failing_at(1, RuntimeError, None))
                    with pytest.raises(RuntimeError):
                        optimizer.step()
                else:
                    optimizer.step()
            results.append(optimizer)
        assert_same(*results)

    def test_a_mapping_of_the_caller(self):
        class Failing(dict):
            __setitem__ = failing_at(2, KeyboardInterrupt, dict.__setitem__)

        optimizer = self.after_a_step(prepare=lambda each: setattr(each, "state", Failing()))
        reference = self.after_a_step()
        with pytest.raises(KeyboardInterrupt):
            optimizer.step()
        reference.step()
        for each in (optimizer, reference):
            set_gradients(each.param_groups[0]["params"], 1)
            each.step()
        assert_same(optimizer, reference)
