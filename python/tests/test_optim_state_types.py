"""Types of states: torch's for new ones, and their own for those that callers assign."""

import copy

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

import updraft
from updraft import optim
from updraft.optim import devices

from .torch_training import assert_close, assert_same_states, parameters, set_gradients

SHAPES = [(9, 4), (5,), (3, 2, 2)]
CLASSES = [
    *("SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop"),
    *("Rprop", "ASGD", "Adafactor"),
]
FEW_BITS = [torch.bfloat16, torch.float16]


@pytest.fixture
def default_dtype():
    """Sets torch's default type, and restores float32 afterwards."""
    yield torch.set_default_dtype
    torch.set_default_dtype(torch.float32)


@pytest.fixture(params=["cpu", "emulator"])
def device(request, monkeypatch):
    if request.param == "emulator":
        monkeypatch.setattr(devices, "is_emulated", lambda tensor: True)


def made(module, name, params, **options):
    if module is torch.optim:
        options.setdefault("foreach", False)
    if name == "SGD":
        options["momentum"] = 0.9
    return getattr(module, name)(params, **options)


def steps(optimizer, count, first=0):
    (group,) = optimizer.param_groups
    for step in range(first, first + count):
        set_gradients(group["params"], step)
        optimizer.step()


class TestDefaultType:
    """New states with `torch.set_default_dtype`."""

    @pytest.mark.parametrize("name", CLASSES)
    @pytest.mark.parametrize("default", [torch.float64, torch.float16], ids=["f64", "f16"])
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["f64", "f32"])
    def test_new_states(self, name, default, dtype, default_dtype, device):
        theirs, ours = parameters(dtype, SHAPES), parameters(dtype, SHAPES)
        default_dtype(default)
        reference, optimizer = made(torch.optim, name, theirs), made(optim, name, ours)
        for each in (reference, optimizer):
            steps(each, 3)
        assert_same_states(reference, optimizer)
        # torch multiplies NAdam's product of momenta in its own type, and creates ASGD's new rate
        # in the default type.
        few = {"NAdam": torch.float32, "ASGD": torch.float16} if default != torch.float64 else {}
        assert_close(theirs, ours, 3, few.get(name))

    @pytest.mark.parametrize("option", ["fused", "foreach"])
    def test_counts_of_fused_steps(self, option, default_dtype):
        theirs, ours = parameters(shapes=SHAPES), parameters(shapes=SHAPES)
        default_dtype(torch.float64)
        reference = torch.optim.Adam(theirs, **{option: True})
        optimizer = optim.Adam(ours, **{option: True})
        for each in (reference, optimizer):
            steps(each, 2)
        assert_same_states(reference, optimizer)

    def test_it_changes_between_steps(self, default_dtype):
        """Existing states don't change, whether they were accessed or not."""
        for look in (False, True):
            params = parameters(torch.float64, SHAPES)
            optimizer = optim.NAdam(params)
            set_gradients(params, 0, absent={1})
            optimizer.step()
            if look:
                assert len(optimizer.state) == 2
            default_dtype(torch.float64)
            set_gradients(params, 1)
            optimizer.step()
            default_dtype(torch.float32)
            for name in ("step", "mu_product"):
                dtypes = [optimizer.state[param][name].dtype for param in params]
                assert dtypes == [torch.float32, torch.float64, torch.float32]
            kept = {id(state) for state in optimizer.state[params[0]].values()}
            steps(optimizer, 2)
            assert {id(state) for state in optimizer.state[params[0]].values()} == kept

    def test_differentiable_steps(self, default_dtype):
        default_dtype(torch.float64)
        for module in (torch.optim, optim):
            param = torch.ones(3, dtype=torch.float64, requires_grad=True).clone()
            optimizer = module.NAdam([param], differentiable=True)
            for _ in range(2):
                param.grad = torch.ones(3, dtype=torch.float64)
                optimizer.step()
            assert optimizer.state[param]["step"].dtype == torch.float64
            assert optimizer.state[param]["mu_product"].dtype == torch.float64


class TestScalars:
    """NAdam's product of momenta in float64, as in torch."""

    def states(self):
        return {
            "step": torch.tensor(10.0),
            "mu_product": torch.tensor(0.5, dtype=torch.float64),
            "exp_avg": torch.ones(2, dtype=torch.float64),
            "exp_avg_sq": torch.ones(2, dtype=torch.float64),
        }

    @pytest.mark.parametrize("differentiable", [False, True])
    def test_it_keeps_its_type(self, differentiable):
        results = []
        for module in (torch.optim, optim):
            param = torch.ones(2, dtype=torch.float64, requires_grad=True)
            stepped = param.clone() if differentiable else param
            optimizer = module.NAdam([stepped], differentiable=differentiable)
            optimizer.state[stepped].update(self.states())
            for _ in range(3):
                stepped.grad = torch.ones(2, dtype=torch.float64)
                optimizer.step()
            product = optimizer.state[stepped]["mu_product"]
            assert product.dtype == torch.float64
            results.append((product.item(), stepped.detach().clone()))
        (product, param), (our_product, our_param) = results
        assert our_product == pytest.approx(product, rel=1e-15)
        torch.testing.assert_close(our_param, param, rtol=1e-14, atol=0)

    def test_gradients_flow_through_it(self):
        def stepped(param, grad, average, square, product):
            param = param.clone()
            param.grad = grad
            optimizer = optim.NAdam([param], 0.9, differentiable=True, weight_decay=0.1)
            optimizer.state[param].update(
                step=torch.tensor(10.0), exp_avg=average, exp_avg_sq=square, mu_product=product
            )
            optimizer.step()
            return param, *(
                value
                for value in optimizer.state[param].values()
                if isinstance(value, torch.Tensor) and value.requires_grad
            )

        generator = torch.Generator().manual_seed(1)
        values = [torch.rand(10, generator=generator, dtype=torch.float64) for _ in range(4)]
        product = torch.tensor(0.5, dtype=torch.float64)
        inputs = [value.requires_grad_() for value in (*values, product)]
        assert torch.autograd.gradcheck(stepped, inputs)


def in_few_bits(optimizer, dtype, names=("exp_avg", "exp_avg_sq")):
    """Assigns new states of a type; returns those of the first parameter."""
    for param in optimizer.param_groups[0]["params"]:
        optimizer.state[param] = {"step": torch.zeros(())} | {
            name: torch.zeros_like(param, dtype=dtype) for name in names
        }
    return dict(optimizer.state[optimizer.param_groups[0]["params"][0]])


def of_rule(params, dtype):
    types = dict.fromkeys(("exp_avg", "exp_avg_sq"), dtype)
    rule = updraft.load("Adam")
    return updraft.optimizer(rule, params, lr=0.1, numerics="torch", storage=types)


def before_the_first_step(optimizer, dtype):
    return in_few_bits(optimizer, dtype)


def after_a_step(optimizer, dtype):
    before = copy.deepcopy([p.detach() for p in optimizer.param_groups[0]["params"]])
    steps(optimizer, 1)
    for param, value in zip(optimizer.param_groups[0]["params"], before, strict=True):
        param.data.copy_(value)
    return in_few_bits(optimizer, dtype)


def in_a_hook(optimizer, dtype):
    put = {}

    def hook(optimizer, args, kwargs):
        if not put:
            put.update(in_few_bits(optimizer, dtype))

    optimizer.register_step_pre_hook(hook)
    return put


WAYS = [before_the_first_step, after_a_step, in_a_hook]


class TestStatesOfACaller:
    """They keep their types, and steps compute with them."""

    @pytest.mark.parametrize("put", WAYS, ids=lambda way: way.__name__)
    @pytest.mark.parametrize("dtype", [*FEW_BITS, torch.float64], ids=str)
    def test_states_stay(self, dtype, put, device):
        params, expected = parameters(shapes=SHAPES), parameters(shapes=SHAPES)
        optimizer = optim.Adam(params, lr=0.1)
        states = put(optimizer, dtype)
        steps(optimizer, 4)
        for name in ("exp_avg", "exp_avg_sq"):
            assert optimizer.state[params[0]][name] is states[name]
            assert states[name].dtype == dtype
        assert states["step"].item() == 4
        steps(of_rule(expected, dtype), 4)
        assert all(map(torch.equal, params, expected))

    def test_states_of_several_types_in_a_group(self):
        params, expected = parameters(shapes=SHAPES), parameters(shapes=SHAPES)
        optimizer = optim.Adam(params, lr=0.1)
        types = [torch.bfloat16, None, torch.float64]
        for param, dtype in zip(params, types, strict=True):
            if dtype is not None:
                optimizer.state[param] = {
                    "step": torch.zeros(()),
                    "exp_avg": torch.zeros_like(param, dtype=dtype),
                    "exp_avg_sq": torch.zeros_like(param),
                }
        steps(optimizer, 3)
        for param, dtype in zip(params, types, strict=True):
            assert optimizer.state[param]["exp_avg"].dtype == (dtype or torch.float32)
            assert optimizer.state[param]["exp_avg_sq"].dtype == torch.float32
        for place, dtype in enumerate(types):
            storage = {} if dtype is None else {"exp_avg": dtype}
            alone = optim.Adam(expected, lr=0.1, storage=storage)
            steps(alone, 3)
            assert expected[place].equal(params[place])
            expected = parameters(shapes=SHAPES)

    def test_a_rule_of_whole_groups_takes_one_type(self):
        params = parameters(shapes=SHAPES)
        optimizer = updraft.optimizer(
            updraft.chain(updraft.transforms.clip_by_global_norm(max_norm=1.0), "Lion"), params
        )
        for param, dtype in zip(params, (torch.bfloat16, *[torch.float32] * 2), strict=True):
            optimizer.state[param] = {
                "step": torch.zeros(()),
                "exp_avg": torch.zeros_like(param, dtype=dtype),
            }
        set_gradients(params, 0)
        with pytest.raises(updraft.UnsupportedError) as error:
            optimizer.step()
        assert str(error.value).endswith(
            "depends on a whole group, but states of a group differ in type; give all states of a "
            "name the same type"
        )
        for param in params[1:]:
            state = optimizer.state[param]
            state["exp_avg"] = state["exp_avg"].bfloat16()
        optimizer.step()
        assert {optimizer.state[param]["exp_avg"].dtype for param in params} == {torch.bfloat16}

    def test_wide_states_of_parameters_of_few_bits(self):
        params = parameters(torch.bfloat16, SHAPES)
        optimizer = optim.AdamW(params)
        in_few_bits(optimizer, torch.float32)
        steps(optimizer, 2)
        assert optimizer.state[params[0]]["exp_avg"].dtype == torch.float32

    def test_complex_states(self):
        params = parameters(torch.complex64, [(3,)])
        optimizer = optim.Adam(params)
        in_few_bits(optimizer, torch.complex128)
        steps(optimizer, 2)
        assert optimizer.state[params[0]]["exp_avg"].dtype == torch.complex128

    @pytest.mark.parametrize("differentiable", [False, True])
    def test_steps_through_torch(self, differentiable):
        param = torch.ones(3, dtype=torch.float64, requires_grad=True)
        param = param.clone() if differentiable else TwoTensor(param, param).requires_grad_()
        optimizer = optim.Adam([param], lr=0.1, differentiable=differentiable)
        in_few_bits(optimizer, torch.bfloat16)
        with torch.set_grad_enabled(differentiable):
            for _ in range(2):
                param.grad = 0.3 * torch.ones_like(param)
                optimizer.step()
        assert optimizer.state[param]["exp_avg"].dtype == torch.bfloat16

    def test_muon(self):
        (param,) = parameters(shapes=[(6, 4)])
        optimizer = optim.Muon([param])
        buffer = torch.zeros_like(param, dtype=torch.bfloat16)
        optimizer.state[param]["momentum_buffer"] = buffer
        steps(optimizer, 2)
        assert optimizer.state[param]["momentum_buffer"] is buffer
        assert buffer.all()

    @pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.float8_e5m2], ids=str)
    def test_types_that_no_state_has(self, dtype):
        params = parameters(shapes=[(3,), (4,)])
        optimizer = optim.Adam(params)
        optimizer.state[params[1]] = {
            "step": torch.zeros(()),
            "exp_avg": torch.zeros(4, dtype=dtype),
            "exp_avg_sq": torch.zeros(4),
        }
        set_gradients(params, 0)
        before = [param.detach().clone() for param in params]
        for _ in range(2):
            with pytest.raises(updraft.InvalidArgumentError) as error:
                optimizer.step()
            assert str(error.value) == (
                f"the state `exp_avg` of parameter 1 is {dtype}; give it in torch.float32, "
                "torch.float64, torch.bfloat16, torch.float16"
            )
        assert all(map(torch.equal, params, before))

    def test_types_that_were_chosen_are_converted_to(self):
        params = parameters(shapes=SHAPES)
        optimizer = of_rule(params, torch.bfloat16)
        in_few_bits(optimizer, torch.float32)
        steps(optimizer, 1)
        assert optimizer.state[params[0]]["exp_avg"].dtype == torch.bfloat16


class TestLoading:
    @pytest.mark.parametrize("saved", FEW_BITS, ids=str)
    def test_classes_of_torch_convert_as_torch_does(self, saved):
        theirs, ours = parameters(shapes=SHAPES), parameters(shapes=SHAPES)
        stored = parameters(saved, SHAPES)
        given = optim.Adam(stored)
        steps(given, 1)
        for module, params in ((torch.optim, theirs), (optim, ours)):
            optimizer = module.Adam(params)
            optimizer.load_state_dict(copy.deepcopy(given.state_dict()))
            steps(optimizer, 2, first=1)
            assert optimizer.state[params[0]]["exp_avg"].dtype == torch.float32
        assert_close(theirs, ours, 3)

    def test_scalars_keep_their_type(self):
        params = parameters(torch.bfloat16, SHAPES)
        optimizer = optim.NAdam(params)
        steps(optimizer, 1)
        other = optim.NAdam(params)
        other.load_state_dict(optimizer.state_dict())
        steps(other, 1)
        assert other.state[params[0]]["mu_product"].dtype == torch.float32

    def test_optimizers_of_rules_keep_types(self):
        params = parameters(shapes=SHAPES)
        given = of_rule(params, torch.bfloat16)
        steps(given, 1)
        other = updraft.optimizer(updraft.load("Adam"), params, lr=0.1, numerics="torch")
        other.load_state_dict(given.state_dict())
        steps(other, 1)
        assert other.state[params[0]]["exp_avg"].dtype == torch.bfloat16


COUNTS = [
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16),
]


class TestStepCounts:
    @pytest.mark.parametrize("dtype", COUNTS, ids=str)
    def test_types_of_step_counts_stay(self, dtype):
        params, expected = parameters(shapes=SHAPES), parameters(shapes=SHAPES)
        for each in (params, expected):
            optimizer = optim.Adam(each)
            steps(optimizer, 1)
            count = torch.tensor(7, dtype=dtype if each is params else torch.float32)
            optimizer.state[each[0]]["step"] = count
            steps(optimizer, 2, first=1)
            assert optimizer.state[each[0]]["step"] is count
            assert count.item() == 9
            count.fill_(20)
            steps(optimizer, 1, first=3)
            assert count.item() == 21
        assert all(map(torch.equal, params, expected))

    def test_a_type_without_the_count(self):
        """torch's count stays at 256. Here it continues, and the tensor has the nearest value."""
        (param,) = parameters(shapes=[(3,)])
        optimizer = optim.Adam([param])
        steps(optimizer, 1)
        count = torch.tensor(255.0, dtype=torch.bfloat16)
        optimizer.state[param]["step"] = count
        shown = []
        for step in range(4):
            steps(optimizer, 1, first=step)
            shown.append(count.item())
        assert shown == [256, 256, 258, 260]

    @pytest.mark.parametrize(
        ("dtype", "largest"),
        [(torch.float16, 65504), (torch.int16, 2**15 - 1), (torch.int32, 2**31 - 1)],
        ids=str,
    )
    def test_counts_beyond_the_range_of_a_type(self, dtype, largest):
        """torch's integers continue with negative counts, for which Adam raises OverflowError. Here
        the tensor has the largest count.
        """
        params, expected = parameters(shapes=SHAPES), parameters(shapes=SHAPES)
        counts = []
        for each, type_of_count in ((params, dtype), (expected, torch.float64)):
            optimizer = optim.Adam(each, betas=(0.9, 0.9999))
            steps(optimizer, 1)
            counts.append(torch.tensor(largest, dtype=type_of_count))
            optimizer.state[each[0]]["step"] = counts[-1]
            steps(optimizer, 20, first=1)
        assert [count.item() for count in counts] == [largest, largest + 20]
        assert all(map(torch.equal, params, expected))

    @pytest.mark.parametrize("dtype", [torch.bool, torch.uint8], ids=str)
    def test_other_types_are_converted(self, dtype):
        (param,) = parameters(shapes=[(3,)])
        optimizer = optim.Adam([param])
        steps(optimizer, 1)
        optimizer.state[param]["step"] = torch.ones((), dtype=dtype)
        steps(optimizer, 1)
        assert optimizer.state[param]["step"].dtype == torch.float32
        assert optimizer.state[param]["step"].item() == 2

    def test_another_type_in_the_same_tensor(self):
        (param,) = parameters(shapes=[(3,)])
        optimizer = optim.Adam([param])
        steps(optimizer, 1)
        count = optimizer.state[param]["step"]
        count.data = torch.tensor(5)
        steps(optimizer, 1)
        assert optimizer.state[param]["step"] is count
        assert (count.dtype, count.item()) == (torch.int64, 6)
