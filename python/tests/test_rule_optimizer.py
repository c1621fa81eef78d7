"""`updraft.optimizer`: a torch optimizer for any rule."""

import copy
import inspect
import io
import pickle

import pytest
import torch

import updraft
import updraft.optim
from updraft import lang

from .torch_training import DUPLICATES, copy_in_training

HEAVY_BALL = """
rule HeavyBall(lr = 0.1, momentum = 0, static buffered = momentum != 0) {
  state buffer = 0 when buffered
  update(param, grad) {
    let direction = if buffered then momentum * buffer + grad else grad
    next buffer = direction when buffered
    next param = param - lr * direction
  }
}
"""


def parameters(dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    return [
        torch.nn.Parameter(torch.randn(shape, generator=generator).to(dtype))
        for shape in [(20, 30), (7,), ()]
    ]


def set_gradients(params, step):
    generator = torch.Generator().manual_seed(step)
    for param in params:
        param.grad = torch.randn(param.shape, generator=generator).to(param.dtype)


def reloaded(optimizer, rule, **options):
    """Another optimizer for the same parameters, with the states from a file."""
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    params = optimizer.param_groups[0]["params"]
    other = updraft.optimizer(rule, params, **options)
    other.load_state_dict(torch.load(file, weights_only=True))
    return other


@pytest.mark.parametrize("name", updraft.shipped_rules())
def test_every_rule_of_the_package(name):
    params = parameters()
    arrays = [param.detach().clone().numpy() for param in params]
    rule = updraft.load(name)
    optimizer = updraft.optimizer(rule, params)
    reference = updraft.ArrayOptimizer(rule, arrays)
    for step in range(4):
        set_gradients(params, step)
        optimizer.step()
        reference.step([param.grad.numpy() for param in params])
        if step == 1:
            optimizer = reloaded(optimizer, rule)
    for param, array in zip(params, arrays, strict=True):
        assert (param.detach().numpy() == array).all()


STORAGE = {"exp_avg": "q8_linear", "exp_avg_sq": "q8_companded"}
# The class, and any rule.
ADAMW = ["AdamW", updraft.load("AdamW")]


@pytest.mark.parametrize("rule", ADAMW, ids=["class", "rule"])
def test_states_in_blocks(rule):
    params, straight = parameters(), parameters()
    optimizer = updraft.optimizer(rule, params, lr=0.1, storage=STORAGE)
    reference = updraft.optimizer(rule, straight, lr=0.1, storage=STORAGE)
    for step in range(4):
        for each in (params, straight):
            set_gradients(each, step)
        optimizer.step()
        reference.step()
        if step == 1:
            optimizer = reloaded(optimizer, rule, lr=0.1, storage=STORAGE)
    state = optimizer.state[params[0]]
    assert list(state) == ["step", "exp_avg", "exp_avg.scale", "exp_avg_sq", "exp_avg_sq.scale"]
    assert state["exp_avg"].dtype == torch.uint8
    assert state["exp_avg.scale"].shape == (3,)
    for param, other in zip(params, straight, strict=True):
        assert param.equal(other)


@pytest.mark.parametrize("rule", ADAMW, ids=["class", "rule"])
@pytest.mark.parametrize(
    "storage",
    [{"state": "f32"}, {"exp_avg": "f32", "exp_avg_sq": "f32"}, STORAGE],
    ids=["all", "named", "blocks"],
)
def test_states_keep_their_type_in_a_file(rule, storage):
    params = parameters(torch.bfloat16)
    optimizer = updraft.optimizer(rule, params, storage=storage)
    set_gradients(params, 0)
    optimizer.step()
    before = {name: value.clone() for name, value in optimizer.state[params[0]].items()}
    other = reloaded(optimizer, rule, storage=storage)
    assert other.state[params[0]].keys() == before.keys()
    for name, value in other.state[params[0]].items():
        assert value.dtype != torch.bfloat16
        assert value.dtype == before[name].dtype
        assert value.equal(before[name])


def test_states_of_a_group_are_one_after_loading():
    params, others = (parameters(torch.float32) for _ in range(2))
    optimizer, loaded = (updraft.optimizer("Prodigy", some) for some in (params, others))

    def step(optimizer, params, number, absent):
        set_gradients(params, number)
        params[0].grad = None if absent else params[0].grad
        optimizer.step()

    for number in range(2):
        step(optimizer, params, number, absent=True)
    loaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for param, other in zip(params, others, strict=True):
        other.data.copy_(param.detach())
    before = loaded.state[others[1]]["d_numerator"].item()
    for number in range(2, 6):
        step(optimizer, params, number, absent=number < 4)
        step(loaded, others, number, absent=number < 4)
    for name in ("d", "d_max", "d_numerator"):
        expected = {optimizer.state[param][name].item() for param in params}
        assert len(expected) == 1
        assert {loaded.state[other][name].item() for other in others} == expected
    assert loaded.state[others[1]]["d_numerator"].item() != before


def test_hooks_say_what_is_loaded():
    params = parameters(torch.bfloat16)
    optimizer = updraft.optimizer("AdamW", params, storage={"state": "f32"})
    set_gradients(params, 0)
    optimizer.step()

    def doubled(optimizer, given):
        states = {
            number: state | {"exp_avg": 2 * state["exp_avg"]}
            for number, state in given["state"].items()
        }
        return given | {"state": states}

    other = updraft.optimizer("AdamW", params, storage={"state": "f32"})
    other.register_load_state_dict_pre_hook(doubled)
    other.load_state_dict(optimizer.state_dict())
    for param in params:
        expected = 2 * optimizer.state[param]["exp_avg"]
        assert other.state[param]["exp_avg"].dtype == torch.float32
        assert other.state[param]["exp_avg"].equal(expected)


def test_flags_follow_from_hyperparameters(tmp_path):
    file = tmp_path / "heavy_ball.upd"
    file.write_text(HEAVY_BALL)
    params = parameters()
    groups = [{"params": params[:1]}, {"params": params[1:], "momentum": 0.9}]
    optimizer = updraft.optimizer(file, groups, lr=0.5)
    set_gradients(params, 0)
    optimizer.step()
    assert [list(optimizer.state[param]) for param in params] == [
        ["step"],
        *[["step", "buffer"]] * 2,
    ]


def test_classes_of_rules():
    assert str(inspect.signature(updraft.optim.Lion)) == (
        "(params, lr=0.0001, betas=(0.9, 0.99), weight_decay=0.0, *, maximize=False, storage=None, "
        "numerics='ieee', seed=None, probes=(), probe_every=1)"
    )
    assert "Symbolic Discovery" in updraft.optim.Lion.__doc__
    theirs, ours = parameters(), parameters()
    reference = updraft.optimizer(updraft.load("Lion"), theirs, lr=0.1, beta1=0.5)
    optimizer = updraft.optim.Lion(ours, 0.1, betas=(0.5, 0.99))
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=5)
    assert optimizer.param_groups[0]["betas"][0] == 0.95
    del scheduler
    optimizer.param_groups[0]["betas"] = (0.5, 0.99)
    optimizer.param_groups[0]["lr"] = 0.1
    optimizer = pickle.loads(pickle.dumps(optimizer))
    ours = optimizer.param_groups[0]["params"]
    for step in range(3):
        for each in (theirs, ours):
            set_gradients(each, step)
        reference.step()
        optimizer.step()
    for param, other in zip(theirs, ours, strict=True):
        assert param.equal(other)
    with pytest.raises(TypeError, match="unexpected keyword argument 'beta1'"):
        updraft.optim.Lion(ours, beta1=0.5)
    with pytest.raises(AttributeError, match=r"unknown optimizer `Lyon` .* did you mean `Lion`"):
        updraft.optim.Lyon  # noqa: B018


@pytest.mark.parametrize("name", sorted({*updraft.shipped_rules()} - {*torch.optim.__all__}))
def test_every_rule_has_a_class(name):
    params = parameters()
    optimizer = getattr(updraft.optim, name)(params)
    set_gradients(params, 0)
    optimizer.step()
    assert name in dir(updraft.optim)


def test_a_rule_that_torch_has_too_is_listed_once():
    assert dir(updraft.optim).count("AdamW") == 1


def test_functions_and_chains():
    @updraft.rule
    def halving(param, grad, lr=0.5):
        return param / 2 - lr * grad

    chain = updraft.chain(updraft.transforms.clip_by_value(bound=0.25), halving)
    (param,) = parameters()[1:2]
    before = param.detach().clone()
    optimizer = updraft.optimizer(chain, [param], bound=0.125)
    param.grad = torch.ones_like(param)
    optimizer.step()
    assert torch.allclose(param, before / 2 - 0.0625)


@pytest.mark.parametrize("duplicate", DUPLICATES)
def test_copies(duplicate):
    rule = updraft.load("SGD")
    optimizer = updraft.optimizer(rule, parameters(), lr=0.1, momentum=0.9, nesterov=True)
    copy_in_training(optimizer, duplicate)


@updraft.rule
def jittered(param, grad, lr=0.5):
    return param - lr * grad * lang.random()


def test_random_numbers_are_those_of_one_list_of_parameters():
    seed = 2**64 - 5
    params = [torch.zeros(33, requires_grad=True) for _ in range(3)]
    ones = [torch.ones(33, dtype=torch.float64, requires_grad=True)]
    groups = [{"params": params[:2]}, {"params": ones}, {"params": params[2:]}]
    optimizer = updraft.optimizer(jittered, groups, seed=seed)
    expected = [torch.zeros(33) for _ in range(4)]
    arrays = updraft.ArrayOptimizer(jittered, expected)
    arrays.seed = seed
    for _ in range(2):
        for param in (*params, *ones):
            param.grad = torch.ones_like(param)
        optimizer.step()
        arrays.step([torch.ones(33)] * 4)
    for position, param in [(0, params[0]), (1, params[1]), (3, params[2])]:
        assert param.equal(expected[position])
    assert not params[0].equal(params[1])


def test_the_seed_is_kept_and_may_change():
    def step(optimizer, param):
        with torch.no_grad():
            param.zero_()
        param.grad = torch.ones_like(param)
        optimizer.step()
        return param.detach().clone()

    (param,) = parameters()[1:2]
    optimizer = updraft.optimizer(jittered, [param], seed=3)
    step(optimizer, param)
    other = reloaded(optimizer, jittered)
    assert other.param_groups[0]["seed"] == 3
    assert copy.deepcopy(optimizer).param_groups[0]["seed"] == 3
    second = step(optimizer, param)
    assert second.equal(step(other, param))
    other.load_state_dict(optimizer.state_dict())
    other.param_groups[0]["seed"] = 4
    assert not step(optimizer, param).equal(step(other, param))
    with pytest.raises(updraft.InvalidArgumentError, match="expected a seed from 0 to "):
        updraft.optimizer(jittered, [param], seed=-1)


def test_a_group_that_is_reduced_has_one_dtype():
    chain = updraft.chain(updraft.transforms.clip_by_global_norm(max_norm=1.0), "SGD")
    params = parameters()[:1] + parameters(torch.bfloat16)[1:]
    with pytest.raises(updraft.UnsupportedError) as error:
        updraft.optimizer(chain, params)
    assert str(error.value) == (
        "the rule `clip_by_global_norm_SGD` depends on a whole group, and one has parameters "
        "that are stepped apart (torch.float32, torch.bfloat16); give each kind a group of its "
        "own, or clip with `updraft.optim.with_clipping`"
    )
    optimizer = updraft.optimizer(chain, [{"params": params[:1]}, {"params": params[1:]}])
    set_gradients(params, 0)
    optimizer.step()


def test_a_group_that_is_counted_has_one_dtype():
    @updraft.rule
    def mean(param, grad, lr=1.0):
        return param - lr * grad / lang.group_size()

    params = parameters()[:1] + parameters(torch.bfloat16)[1:]
    with pytest.raises(updraft.UnsupportedError, match="`mean` depends on a whole group, and one"):
        updraft.optimizer(mean, params)


def test_options_that_are_refused():
    with pytest.raises(updraft.InvalidArgumentError) as error:
        updraft.optimizer(updraft.load("SGD"), parameters(), momentun=0.9)
    assert str(error.value) == (
        "the rule `SGD` has no hyperparameter or static flag `momentun`; there are `lr`, "
        "`momentum`, `dampening`, `weight_decay`, `nesterov`, `maximize`, `buffered`"
    )
    with pytest.raises(ValueError, match=r"^Invalid learning rate: -1\.0$"):
        updraft.optimizer(updraft.load("SGD"), parameters(), lr=-1)
    with pytest.raises(
        ValueError, match="Nesterov momentum requires a momentum and zero dampening"
    ):
        updraft.optimizer(updraft.load("SGD"), parameters(), nesterov=True)


def test_torch_is_loaded_only_for_it(run_python):
    program = """
import sys, updraft
before = "torch" in sys.modules
try:
    updraft.optimizer("SGD", [])
except ValueError:
    print(before, "torch" in sys.modules)
"""
    assert run_python(program) == "False True"


def test_states_of_another_storage_are_refused():
    def stepped(storage, states=None):
        param = torch.nn.Parameter(torch.ones(300))
        param.grad = torch.ones(300)
        optimizer = updraft.optimizer("AdamW", [param], storage=storage)
        if states is not None:
            optimizer.load_state_dict(states)
        optimizer.step()
        return optimizer.state_dict()

    blocks = {"exp_avg": "q8_linear"}
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        stepped(None, stepped(blocks))
    assert str(caught.value) == (
        "the state `exp_avg` is in blocks of codes, with their scales in `exp_avg.scale`, but the "
        "rule `AdamW` stores it as f32 here; give the optimizer the `storage` that the state was "
        "made with"
    )
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        stepped(blocks, stepped(None))
    assert str(caught.value) == (
        "the state `exp_avg` is not in blocks of codes, but the rule `AdamW` stores it as "
        "q8_linear here; give the optimizer the `storage` that the state was made with"
    )


def test_arguments_of_the_wrong_type():
    param = torch.ones(3)
    for message, rule, params, options in (
        (
            "`rule` is <class 'type'>; give a function with `@updraft.rule`, a chain, the name of "
            "a rule of the package, or a file",
            torch.optim.AdamW,
            [param],
            {},
        ),
        (
            "params argument given to the optimizer should be an iterable of Tensors or dicts, but "
            "got torch.FloatTensor",
            "Lion",
            param,
            {},
        ),
        (
            "`storage` is <class 'str'>; give a dict, `{name: value}`",
            "Lion",
            [param],
            {"storage": "q8_linear"},
        ),
        (
            "hyperparameter `lr` is <class 'str'>; give a number",
            "Lion",
            [param],
            {"lr": "0.1"},
        ),
    ):
        with pytest.raises(TypeError) as caught:
            updraft.optimizer(rule, params, **options)
        assert str(caught.value) == message
    with pytest.raises(TypeError) as caught:
        updraft.optim.Lion([param], beta1=0.9)
    assert str(caught.value) == (
        "Lion: got an unexpected keyword argument 'beta1'; it takes `params`, `lr`, `betas`, "
        "`weight_decay`, `maximize`, `storage`, `numerics`, `seed`, `probes`, `probe_every`"
    )
