"""`updraft.optimizer` with a name, and the class of that name: the same class, with storage,
numerics and seed as options.
"""

import copy
import inspect
import pickle

import pytest
import torch

import updraft
from updraft import optim

from .torch_training import copy_in_training, parameters, set_gradients, step_alike

NAMES = updraft.shipped_rules()
OF_TORCH = sorted({*NAMES} & {*torch.optim.__all__})
DENSE = [name for name in NAMES if name != "SparseAdam"]
SHAPES = [(20, 30), (7,), ()]
BLOCKS = {"exp_avg": "q8_linear", "exp_avg_sq": "q8_companded"}


def shapes_for(maker):
    """Muon takes matrices only."""
    name = maker if isinstance(maker, str) else getattr(maker, "__name__", None) or maker.name
    return [(20, 30), (7, 4)] if name.lower() == "muon" else SHAPES


def make(maker, dtype=torch.float32, **options):
    """An optimizer of new parameters, from a class or an argument of `updraft.optimizer`."""
    shapes = shapes_for(maker)
    if not isinstance(maker, type):
        rule = maker
        maker = lambda params, **options: updraft.optimizer(rule, params, **options)  # noqa: E731
    return maker(parameters(dtype, shapes), **options)


def params_of(optimizer):
    return [param for group in optimizer.param_groups for param in group["params"]]


def assert_same_bits(*optimizers):
    first, *others = ([param.detach() for param in params_of(each)] for each in optimizers)
    for other in others:
        assert all(map(torch.equal, first, other))


def options_of(optimizer):
    (group,) = optimizer.param_groups
    return {name: value for name, value in group.items() if name != "params"}


def states_of(optimizer):
    return [{**optimizer.state[param]} for param in params_of(optimizer)]


@pytest.mark.parametrize("name", DENSE)
def test_a_name_is_the_class(name):
    kind = getattr(optim, name)
    optimizers = [make(kind), make(name), make(name.lower())]
    assert {type(optimizer) for optimizer in optimizers} == {kind}
    step_alike(optimizers, 10)
    assert_same_bits(*optimizers)
    first, second, _ = optimizers
    assert options_of(first) == options_of(second)
    assert [[*state] for state in states_of(first)] == [[*state] for state in states_of(second)]


@pytest.mark.parametrize("name", OF_TORCH)
def test_a_name_has_the_entries_of_torch(name):
    shapes = shapes_for(name)
    theirs = getattr(torch.optim, name)(parameters(shapes=shapes))
    ours = updraft.optimizer(name, parameters(shapes=shapes))
    assert options_of(ours) == options_of(theirs)
    assert isinstance(ours, getattr(torch.optim, name))


def test_a_name_takes_the_arguments_of_the_class():
    adam = make("AdamW", betas=(0.5, 0.75), fused=True)
    assert adam.param_groups[0]["betas"] == (0.5, 0.75)
    assert make("Rprop", etas=(0.25, 2.0)).param_groups[0]["etas"] == (0.25, 2.0)
    assert make("Lion", betas=(0.5, 0.75)).param_groups[0]["betas"] == (0.5, 0.75)


def test_arguments_that_a_class_does_not_take():
    with pytest.raises(TypeError) as caught:
        make("SGD", momentun=0.9)
    assert str(caught.value) == (
        "SGD: got an unexpected keyword argument 'momentun'; it takes `params`, `lr`, `momentum`, "
        "`dampening`, `weight_decay`, `nesterov`, `maximize`, `foreach`, `differentiable`, "
        "`fused`, `storage`, `numerics`, `seed`, `probes`, `probe_every`"
    )
    with pytest.raises(TypeError) as caught:
        make("Lion", beta1=0.9)
    assert str(caught.value) == (
        "Lion: got an unexpected keyword argument 'beta1'; it takes `params`, `lr`, `betas`, "
        "`weight_decay`, `maximize`, `storage`, `numerics`, `seed`, `probes`, `probe_every`"
    )
    with pytest.raises(ValueError, match=r"^Invalid learning rate: -1$"):
        make("SGD", lr=-1)


def test_a_name_refuses_what_the_class_refuses():
    optimizer = make("SparseAdam")
    set_gradients(params_of(optimizer), 0)
    with pytest.raises(RuntimeError, match=r"^SparseAdam does not support dense gradients"):
        optimizer.step()


def test_a_rule_that_is_no_name_is_taken_as_it_is(tmp_path):
    definition = updraft.load("AdamW")
    file = tmp_path / "adamw.upd"
    file.write_text(definition.to_upd())
    for rule in (definition, file, str(file)):
        optimizer = make(rule)
        assert not isinstance(optimizer, torch.optim.AdamW)
        assert optimizer.param_groups[0]["beta1"] == 0.9


@pytest.mark.parametrize("numerics", ["ieee", "torch", "fast"])
@pytest.mark.parametrize("name", DENSE)
def test_numerics_are_an_argument_of_both(name, numerics):
    optimizers = [
        make(getattr(optim, name), numerics=numerics),
        make(name, numerics=numerics),
        make(updraft.load(name), numerics=numerics),
    ]
    if name == "Muon" and numerics != "ieee":
        optimizers.pop()  # the class has torch's products, or bf16 ones
    step_alike(optimizers, 4)
    assert_same_bits(*optimizers)


@pytest.mark.parametrize("name", DENSE)
def test_the_default_numerics(name):
    default = "torch" if name in OF_TORCH else "ieee"
    numerics = inspect.signature(getattr(optim, name)).parameters["numerics"]
    assert numerics.default == default
    optimizers = [
        make(name),
        make(getattr(optim, name)),
        make(updraft.load(name), numerics=default),
    ]
    if name == "Muon":
        optimizers.pop()  # the rule has products of its own
    step_alike(optimizers, 4)
    assert_same_bits(*optimizers)


@pytest.mark.parametrize("maker", ["AdamW", optim.AdamW, optim.Muon], ids=str)
def test_numerics_differ(maker):
    found = []
    for numerics in ("ieee", "torch", "fast"):
        param = torch.nn.Parameter(parameters(shapes=[(64, 64)])[0].detach())
        kind = maker if isinstance(maker, type) else getattr(optim, maker)
        optimizer = kind([param], lr=0.1, numerics=numerics)
        step_alike([optimizer], 10)
        found.append(param.detach())
    assert not any(found[i].equal(found[j]) for i, j in [(0, 1), (0, 2), (1, 2)])


def test_choices_that_are_refused():
    for maker in ("AdamW", optim.AdamW):
        with pytest.raises(updraft.InvalidArgumentError) as caught:
            make(maker, numerics="exact")
        assert str(caught.value) == (
            "unknown numerics mode `exact`; the modes are `ieee`, `torch`, `fast`"
        )
        with pytest.raises(updraft.CompileError) as caught:
            make(maker, storage={"exp_average": "bf16"})
        assert str(caught.value) == (
            "error: the rule `AdamW` has no state `exp_average`; storage types are given for "
            "`param`, `grad`, `state` or a state by its name"
        )
        with pytest.raises(TypeError) as caught:
            make(maker, storage="bf16")
        assert str(caught.value) == "`storage` is <class 'str'>; give a dict, `{name: value}`"
        with pytest.raises(updraft.InvalidArgumentError) as caught:
            make(maker, seed=-1)
        assert str(caught.value) == "expected a seed from 0 to 2^64 - 1, got -1"


STATES = [
    ("AdamW", BLOCKS, ["step", "exp_avg", "exp_avg.scale", "exp_avg_sq", "exp_avg_sq.scale"]),
    ("SGD", {"state": "q8_linear"}, ["momentum_buffer", "momentum_buffer.scale"]),
    ("Muon", {"state": "q8_linear"}, ["momentum_buffer", "momentum_buffer.scale"]),
    (
        "Adam",
        {"exp_avg": "bf16_corrected"},
        ["step", "exp_avg", "exp_avg_sq", "exp_avg_correction"],
    ),
]


@pytest.mark.parametrize("name, storage, states", STATES, ids=lambda value: str(value)[:20])
def test_storage_of_states(name, storage, states):
    options = {"momentum": 0.9} if name != "AdamW" and name != "Adam" else {}
    params, straight = (parameters(torch.float32, [(20, 30)]) for _ in range(2))
    kind = getattr(optim, name)
    optimizer, reference = (kind(some, storage=storage, **options) for some in (params, straight))
    for step in range(4):
        for some in (params, straight):
            set_gradients(some, step)
        optimizer.step()
        reference.step()
        if step == 1:
            saved = copy.deepcopy(optimizer.state_dict())
            optimizer = kind(params, storage=storage, **options)
            optimizer.load_state_dict(saved)
    assert [[*state] for state in states_of(optimizer)] == [states]
    assert_same_bits(optimizer, reference)


def test_scalars_that_are_chosen(monkeypatch):
    monkeypatch.setattr(torch, "get_default_dtype", lambda: torch.float64)
    plain = make("NAdam")
    chosen = make("NAdam", storage={"mu_product": "f32"})
    step_alike([plain, chosen], 1)
    assert [state["mu_product"].dtype for state in states_of(plain)] == [torch.float64] * 3
    assert [state["mu_product"].dtype for state in states_of(chosen)] == [torch.float32] * 3


def test_random_numbers_of_storage():
    storage = {"param": "bf16_stochastic"}
    optimizers = [
        make("AdamW", torch.bfloat16, storage=storage, seed=7),
        make(updraft.load("AdamW"), torch.bfloat16, storage=storage, seed=7, numerics="torch"),
    ]
    other = make("AdamW", torch.bfloat16, storage=storage, seed=8)
    step_alike([*optimizers, other], 5)
    assert_same_bits(*optimizers)
    assert not params_of(other)[0].equal(params_of(optimizers[0])[0])
    (extra,) = parameters(torch.bfloat16, [(3,)])
    optimizers[0].add_param_group({"params": [extra]})
    assert [group["seed"] for group in optimizers[0].param_groups] == [7, 7]


@pytest.mark.parametrize("duplicate", ["deepcopy", "pickle"])
@pytest.mark.parametrize("name", ["AdamW", "Lion", "Muon"])
def test_copies_keep_the_choices(name, duplicate):
    params = parameters(shapes=[(64, 64)])
    state = "momentum_buffer" if name == "Muon" else "exp_avg"
    optimizer = getattr(optim, name)(params, storage={state: "q8_linear"}, numerics="fast")
    other = copy_in_training(optimizer, duplicate)
    assert type(other) is type(optimizer)
    assert all(each.numerics == "fast" for each in other._correspondences(other.param_groups[0]))
    assert other.correspondence.storage == {state: "q8_linear"}


def test_a_pickle_without_choices_is_that_of_torch():
    optimizer, reference = make("AdamW"), torch.optim.AdamW(parameters(shapes=SHAPES))
    assert optimizer.__getstate__().keys() == reference.__getstate__().keys()
    assert pickle.loads(pickle.dumps(optimizer)).correspondence is optim.AdamW.correspondence


def test_conversion():
    optimizer = make("AdamW", numerics="ieee")
    step_alike([optimizer], 1)
    theirs = optim.convert(optimizer)
    assert type(theirs) is torch.optim.AdamW
    assert vars(theirs).keys() <= vars(make(torch.optim.AdamW)).keys()
    assert optim.convert(theirs).correspondence.numerics == "torch"
    with pytest.raises(TypeError) as caught:
        optim.convert(make("AdamW", storage=BLOCKS))
    assert str(caught.value) == (
        "`AdamW` was made with `storage`, and torch's class cannot read such states; convert an "
        "optimizer without `storage`"
    )


def test_states_go_to_torch_and_back():
    optimizer = make("AdamW", numerics="fast")
    step_alike([optimizer], 2)
    reference = make(torch.optim.AdamW)
    reference.load_state_dict(optimizer.state_dict())
    again = make("AdamW")
    again.load_state_dict(reference.state_dict())
    for before, after in zip(states_of(optimizer), states_of(again), strict=True):
        assert before.keys() == after.keys()
        assert all(before[name].equal(after[name]) for name in before)


def test_clipping_and_schedules_keep_the_choices():
    optimizers = [
        optim.with_clipping(make(maker, numerics="ieee", lr=0.1), max_norm=0.5)
        for maker in ("AdamW", updraft.load("AdamW"))
    ]
    schedules = [torch.optim.lr_scheduler.ExponentialLR(each, 0.5) for each in optimizers]
    for _ in range(3):
        step_alike(optimizers, 1)
        for schedule in schedules:
            schedule.step()
    assert_same_bits(*optimizers)


class WithAnArgument(optim.AdamW):
    """A user's subclass."""

    def __init__(self, params, rate):
        super().__init__(params, lr=rate, numerics="ieee")


class WithAnotherName(optim.AdamW):
    """A class with the constructor of ours."""


def test_derived_classes():
    assert [*inspect.signature(WithAnArgument).parameters] == ["params", "rate"]
    assert inspect.signature(WithAnotherName) == inspect.signature(optim.AdamW)
    optimizers = [make(WithAnArgument, rate=0.1), make("AdamW", lr=0.1, numerics="ieee")]
    step_alike(optimizers, 3)
    assert_same_bits(*optimizers)


@pytest.mark.parametrize("name", [*OF_TORCH, "Muon"])
def test_signatures_are_those_of_torch(name):
    theirs = [*inspect.signature(getattr(torch.optim, name)).parameters.values()]
    ours = [*inspect.signature(getattr(optim, name)).parameters.values()]
    assert ours[: len(theirs)] == theirs
    assert [(each.name, each.default) for each in ours[len(theirs) :]] == [
        ("storage", None),
        ("numerics", "torch"),
        ("seed", None),
        ("probes", ()),
        ("probe_every", 1),
    ]


def test_the_rule_of_a_class():
    assert make("AdamW").rule.hypers == updraft.load("AdamW").hypers
    assert make("Lion").rule.name == "Lion"
