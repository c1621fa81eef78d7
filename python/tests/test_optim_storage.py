"""`storage` in `updraft.optim`: refused types, and states of optimizers with another storage."""

import copy

import pytest
import torch

import updraft
from updraft import optim
from updraft.optim.buckets import Bucket
from updraft.optim.stand_ins import LocalBucket
from updraft.optim.states import ParameterState

from .torch_training import parameters, set_gradients

OF_ANOTHER = "; give the optimizer the `storage` that the state was made with"


def stepped(make, saved=None, count=1, first=0, **options):
    """Returns an optimizer after some steps, from the states of a `state_dict` if it is given."""
    params = parameters(shapes=[(300,), (20, 30)])
    optimizer = make(params, **options)
    if saved is not None:
        optimizer.load_state_dict(copy.deepcopy(saved))
    for step in range(first, first + count):
        set_gradients(params, step)
        optimizer.step()
    return optimizer


def refusal_of(call, *args, **options):
    with pytest.raises(updraft.InvalidArgumentError) as error:
        call(*args, **options)
    return str(error.value)


def assert_same(first, second):
    for one, other in zip(first.state.values(), second.state.values(), strict=True):
        assert [*one] == [*other]
        assert all(map(torch.equal, one.values(), other.values()))


def differentiable_from(stored):
    """Returns a differentiable AdamW with states that were stored as `stored`, before its step."""
    saved = stepped(optim.AdamW, storage={"exp_avg": stored}).state_dict()
    saved["param_groups"][0]["differentiable"] = True
    params = [param.clone() for param in parameters(shapes=[(300,), (20, 30)])]
    optimizer = optim.AdamW(params, differentiable=True)
    optimizer.load_state_dict(saved)
    set_gradients(params, 0)
    return optimizer


class TestComplexParameters:
    @pytest.mark.parametrize(
        "stored",
        [
            *("bf16", "bf16_stochastic", "bf16_corrected", "q8_linear", "q8_companded"),
            torch.bfloat16,
        ],
        ids=str,
    )
    @pytest.mark.parametrize("name", ["state", "exp_avg"])
    def test_types_without_complex_numbers_are_refused(self, stored, name):
        params = parameters(torch.complex64, [(3,)])
        for make in (optim.AdamW, optim.Lion):
            assert refusal_of(make, params, storage={name: stored}) == (
                "expected f32, f64 or f16 for the state `exp_avg` of complex parameters, "
                f"got {stored}"
            )

    def test_differentiable_steps(self):
        params = [param.clone() for param in parameters(torch.complex64, [(3,)])]
        set_gradients(params, 0)
        message = refusal_of(optim.AdamW, params, differentiable=True, storage={"state": "bf16"})
        assert message.endswith("for the state `exp_avg` of complex parameters, got bf16")

    def test_a_group_that_is_added(self):
        optimizer = optim.AdamW(parameters(shapes=[(3,)]), storage={"state": "bf16"})
        params = parameters(torch.complex64, [(3,)])
        optimizer.add_param_group({"params": params})
        every = [param for group in optimizer.param_groups for param in group["params"]]
        set_gradients(every, 0)
        before = copy.deepcopy([param.detach() for param in every])
        assert "complex parameters" in refusal_of(optimizer.step)
        assert all(map(torch.equal, every, before))

    @pytest.mark.parametrize(
        "storage", [{"state": "f16"}, {"state": "f64"}, {"mu_product": "bf16"}]
    )
    def test_other_types(self, storage):
        params = parameters(torch.complex64, [(3,)])
        optimizer = optim.NAdam(params, storage=storage)
        set_gradients(params, 0)
        optimizer.step()
        assert optimizer.state_dict()["state"][0]["exp_avg"].is_complex()


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


class TestMixedParameters:
    """A storage type of bf16 parameters, with parameters of other dtypes in the same group."""

    @pytest.mark.parametrize("make", [optim.AdamW, optim.Lion], ids=lambda make: make.__name__)
    @pytest.mark.parametrize("stored", ["bf16_stochastic", "bf16_corrected"])
    def test_it_applies_to_the_bf16_parameters(self, make, stored):
        storage = {"param": stored}
        both = [*parameters(torch.bfloat16, [(300,)]), *parameters(torch.float32, [(300,)])]
        alone = [*parameters(torch.bfloat16, [(300,)]), *parameters(torch.float32, [(300,)])]
        optimizers = [make(both, storage=storage)]
        optimizers += [make(alone[:1], storage=storage), make(alone[1:])]
        for step in range(3):
            set_gradients(both, step)
            for one, other in zip(both, alone, strict=True):
                other.grad = one.grad.clone()
            for optimizer in optimizers:
                optimizer.step()
        assert all(one.equal(other) for one, other in zip(both, alone, strict=True))
        has = ["param_correction" in optimizers[0].state[param] for param in both]
        assert has == [stored == "bf16_corrected", False]

    @pytest.mark.parametrize("make", [optim.AdamW, optim.Lion], ids=lambda make: make.__name__)
    def test_one_without_bf16_parameters_refuses_it(self, make):
        params = parameters(shapes=[(3,)])
        assert refusal_of(make, params, storage={"param": "bf16_corrected"}) == (
            "`storage` has `param` = bf16_corrected, but the parameters are torch.float32; convert "
            "them to bfloat16, or leave `param` out"
        )

    @pytest.mark.parametrize("stored", ["bf16_stochastic", "bf16_corrected"])
    def test_a_step_of_two_rules_refuses_it(self, stored):
        params = parameters(torch.bfloat16, [(20, 30)])
        with pytest.raises(updraft.UnsupportedError) as error:
            optim.Muon(params, storage={"param": stored})
        assert str(error.value) == (
            f'`storage` has `param` = {stored}, but with numerics="torch", a step consists of two '
            'rules, which round parameters to the nearest; give numerics="ieee" or "fast"'
        )


class TestGradients:
    @pytest.mark.parametrize(
        "make",
        [
            *(optim.SGD, optim.Lion, optim.Muon),
            lambda params, **options: updraft.optimizer("AdamW", params, **options),
            lambda params, **options: optim.for_model(torch.nn.Linear(3, 3), **options),
        ],
    )
    @pytest.mark.parametrize("stored", ["bf16", "f32"])
    def test_their_type_is_that_of_the_parameter(self, make, stored):
        assert refusal_of(make, parameters(shapes=[(3, 3)]), storage={"grad": stored}) == (
            f"`storage` has `grad` = {stored}, but gradients of a torch optimizer have the "
            "parameter's type; leave `grad` out"
        )


class TestCodes:
    """The codes of `q8_linear` and `q8_companded` mean different numbers."""

    @pytest.mark.parametrize(
        "make", [optim.AdamW, optim.Lion, optim.Muon], ids=lambda make: make.__name__
    )
    @pytest.mark.parametrize("chosen", ["state", "by name"])
    def test_states_of_the_other_code_are_refused(self, make, chosen):
        state = "momentum_buffer" if make is optim.Muon else "exp_avg"
        name = state if chosen == "by name" else chosen

        def made(params, stored):
            params = params if make is not optim.Muon else params[1:]
            return make(params, storage={name: stored})

        for one, other in (("q8_linear", "q8_companded"), ("q8_companded", "q8_linear")):
            saved = stepped(lambda params, one=one: made(params, one)).state_dict()
            optimizer = stepped(lambda params, other=other: made(params, other))
            before = copy.deepcopy(optimizer)
            assert refusal_of(optimizer.load_state_dict, saved) == (
                f"the state `{state}` is in blocks of {one} codes, but the optimizer stores it as "
                f"{other}{OF_ANOTHER}"
            )
            assert_same(optimizer, before)

    def test_codes_that_became_numbers(self):
        """Programs that convert all states of a file to one dtype."""
        storage = {"exp_avg": "q8_linear"}
        saved = stepped(optim.AdamW, storage=storage).state_dict()
        saved["state"][0]["exp_avg"] = saved["state"][0]["exp_avg"].float()
        text = "^state `exp_avg` of parameter `0` is float32 .* with float32 scales; give uint8"
        with pytest.raises(ValueError, match=text):
            stepped(optim.AdamW, saved, first=1, storage=storage)

    def test_the_same_code(self):
        storage = {"state": "q8_companded", "exp_avg": "q8_linear"}
        spelt = {"exp_avg": "q8_linear", "exp_avg_sq": "q8_companded"}
        saved = stepped(optim.AdamW, storage=storage).state_dict()
        (group,) = saved["param_groups"]
        assert group["storage"] == spelt
        resumed = stepped(optim.AdamW, saved, first=1, storage=spelt)
        assert "storage" not in resumed.param_groups[0]
        assert_same(resumed, stepped(optim.AdamW, count=2, storage=storage))

    def test_a_dict_that_does_not_name_it(self):
        """Dicts of older versions."""
        storage = {"exp_avg": "q8_companded"}
        saved = stepped(optim.AdamW, storage=storage).state_dict()
        del saved["param_groups"][0]["storage"]
        resumed = stepped(optim.AdamW, saved, first=1, storage=storage)
        assert_same(resumed, stepped(optim.AdamW, count=2, storage=storage))

    @pytest.mark.parametrize("storage", [None, {"state": "bf16"}, {"state": "bf16_corrected"}])
    def test_others_have_no_such_entry(self, storage):
        saved = stepped(optim.AdamW, storage=storage).state_dict()
        assert "storage" not in saved["param_groups"][0]

    @pytest.mark.filterwarnings("ignore:a parameter group has `storage`")
    @pytest.mark.parametrize("mine", ["mine", {"kind": "mine"}])
    def test_an_entry_of_the_caller(self, mine):
        params = parameters(shapes=[(3,)])
        optimizer = optim.AdamW([{"params": params, "storage": mine}])
        optimizer.load_state_dict(optimizer.state_dict())
        assert optimizer.param_groups[0]["storage"] == mine

    def test_differentiable_steps_refuse_codes(self):
        optimizer = differentiable_from("q8_linear")
        assert refusal_of(optimizer.step) == (
            "the state `exp_avg` is in blocks of codes, with their scales in `exp_avg.scale`, but "
            f"the rule `AdamW` stores it as f32 here{OF_ANOTHER}"
        )


class TestCorrections:
    @pytest.mark.parametrize("make", [optim.AdamW, optim.Lion], ids=lambda make: make.__name__)
    @pytest.mark.parametrize("storage", [None, {"state": "bf16"}, {"state": "f64"}], ids=str)
    def test_a_rule_without_them_refuses_them(self, make, storage):
        saved = stepped(make, storage={"state": "bf16_corrected"}).state_dict()
        stored = storage["state"] if storage else "f32"
        assert refusal_of(stepped, make, saved, storage=storage) == (
            "the state `exp_avg` has corrections in `exp_avg_correction`, but the rule "
            f"`{make.__name__}` stores it as {stored} here{OF_ANOTHER}"
        )

    def test_those_of_parameters(self):
        (param,) = parameters(torch.bfloat16, [(3,)])
        optimizer = optim.SGD([param], storage={"param": "bf16_corrected"})
        set_gradients([param], 0)
        optimizer.step()
        plain = optim.SGD([param])
        plain.load_state_dict(optimizer.state_dict())
        assert refusal_of(plain.step) == (
            "the parameter has corrections in `param_correction`, but the rule `SGD` stores it as "
            f"bf16 here{OF_ANOTHER}"
        )

    def test_muon(self):
        """As one rule. The second of two rules has no states."""
        params = parameters(torch.bfloat16, [(20, 30)])
        storage = {"param": "bf16_corrected"}
        optimizer = optim.Muon(params, storage=storage, numerics="ieee")
        for step in range(2):
            set_gradients(params, step)
            optimizer.step()
            optimizer.load_state_dict(optimizer.state_dict())

    def test_differentiable_steps(self):
        optimizer = differentiable_from("bf16_corrected")
        assert "`exp_avg_correction`" in refusal_of(optimizer.step)

    def test_states_without_them_are_refused(self):
        saved = stepped(optim.AdamW).state_dict()
        with pytest.raises(ValueError, match="but not `exp_avg_sq_correction`"):
            stepped(optim.AdamW, saved, storage={"state": "bf16_corrected"})


class TestAdagrad:
    """torch's constructor makes `sum` in f32."""

    @pytest.mark.parametrize("stored", ["q8_linear", "q8_companded", "bf16_corrected"])
    @pytest.mark.parametrize("name", ["sum", "state"])
    @pytest.mark.parametrize("initial", [0.0, 0.1])
    def test_types_of_two_tensors(self, stored, name, initial):
        def make(params, **options):
            return optim.Adagrad(params, initial_accumulator_value=initial, **options)

        optimizer = stepped(make, count=3, storage={name: stored})
        rule = updraft.load("Adagrad")
        reference = stepped(
            lambda params: updraft.optimizer(
                rule,
                params,
                initial_accumulator_value=initial,
                storage={"sum": stored},
                numerics="torch",
            ),
            count=3,
        )
        for one, other in zip(optimizer.state, reference.state, strict=True):
            assert one.equal(other)
        resumed = stepped(make, optimizer.state_dict(), first=3, storage={name: stored})
        straight = stepped(make, count=4, storage={name: stored})
        assert_same(resumed, straight)

    def test_others_have_a_sum_at_once(self):
        params = parameters(shapes=[(3,)])
        optimizer = optim.Adagrad(params, storage={"sum": "bf16"})
        optimizer.share_memory()
        assert optimizer.state[params[0]]["sum"].is_shared()
