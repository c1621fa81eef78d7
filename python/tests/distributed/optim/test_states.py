"""States of distributed optimizers: numbers of workers, local optimizers, and damaged files."""

import copy
import threading
import warnings

import pytest
import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.checkpoint as checkpoint
import torch.distributed.rpc as rpc
from clients import on_client
from remote_models import (
    backward,
    copies,
    fill,
    give_up_locks,
    gradients,
    hold_locks,
    loss,
    parameters,
    step_both,
)

import updraft
from updraft import optim
from updraft.distributed.optim import (
    DistributedOptimizer,
    collect_parameters,
    parameter_rrefs,
)

SHAPES = ((5, 3), (), (17,))
CONFIGURATIONS = [
    (torch.optim.SGD, {"momentum": 0.9}),
    (torch.optim.SGD, {}),
    (torch.optim.Adam, {"amsgrad": True}),
    (torch.optim.Adagrad, {"lr_decay": 0.1}),
    (torch.optim.Adadelta, {}),
    (torch.optim.RMSprop, {"centered": True, "momentum": 0.5}),
    (torch.optim.Rprop, {}),
    (torch.optim.Adamax, {}),
    (torch.optim.NAdam, {}),
    (torch.optim.ASGD, {"weight_decay": 0.1}),
    (torch.optim.Adafactor, {}),
]


def step(optimizer, *parts):
    """Steps parameters on several workers; each part of the loss has those of one worker."""
    with dist_autograd.context() as context:
        factor = torch.tensor(1.0, requires_grad=True)
        losses = [rpc.rpc_sync(rrefs[0].owner(), loss, args=(rrefs, factor)) for rrefs in parts]
        # A single backward, because a second one would wait for the first one's results.
        dist_autograd.backward(context, [sum(losses)])
        optimizer.step(context)


def step_local(optimizer, params):
    for param in params:
        param.grad = torch.linspace(-1, 1, param.numel()).view_as(param)
    optimizer.step()


def on_two_workers():
    return parameters("worker1", *SHAPES[:2]), parameters("worker2", SHAPES[2])


def on_one_worker(values):
    rrefs = parameters("worker2", *(value.shape for value in values))
    for rref, value in zip(rrefs, values, strict=True):
        rpc.rpc_sync("worker2", fill_with, args=(rref, value))
    return rrefs


def fill_with(rref, value):
    with torch.no_grad():
        rref.local_value().copy_(value)


def assert_same(values, others):
    for value, other in zip(values, others, strict=True):
        torch.testing.assert_close(value, other.detach(), rtol=0, atol=0)


def assert_same_state(found, expected):
    assert found["param_groups"] == expected["param_groups"], found["param_groups"]
    assert found["state"].keys() == expected["state"].keys(), found["state"]
    for number, state in expected["state"].items():
        assert {*found["state"][number]} == {*state}, (found["state"][number], state)
        for name, value in state.items():
            torch.testing.assert_close(found["state"][number][name], value, rtol=0, atol=0)


@on_client
def test_other_workers_and_local_optimizers():
    """Two workers, then one, then our local optimizer and torch's, then two workers again."""
    for kind, options in CONFIGURATIONS:
        ours = getattr(optim, kind.__name__)
        first, second = on_two_workers()
        two = DistributedOptimizer(kind, [*first, *second], **options)
        for _ in range(2):
            step(two, first, second)
        saved = two.state_dict()

        local = [torch.nn.Parameter(v) for v in collect_parameters([*first, *second])]
        rrefs = on_one_worker(local)
        one = DistributedOptimizer(kind, rrefs, **options)
        one.load_state_dict(saved)
        assert_same_state(one.state_dict(), saved)
        here = ours(local, **options)
        here.load_state_dict(copy.deepcopy(saved))
        of_torch = kind([torch.nn.Parameter(value.detach().clone()) for value in local], **options)
        of_torch.load_state_dict(copy.deepcopy(saved))

        step(two, first, second)
        step(one, rrefs)
        step_local(here, local)
        step_local(of_torch, of_torch.param_groups[0]["params"])
        assert_same(collect_parameters(rrefs), collect_parameters([*first, *second]))
        assert_same(collect_parameters(rrefs), local)
        for value, other in zip(local, of_torch.param_groups[0]["params"], strict=True):
            torch.testing.assert_close(value, other, rtol=2e-6, atol=1e-6)

        for saved in (here.state_dict(), of_torch.state_dict()):
            again = DistributedOptimizer(kind, [*first, *second], **options)
            again.load_state_dict(saved)
            assert_same_state(
                again.state_dict(),
                saved
                | {
                    "state": {
                        number: {name: v for name, v in state.items() if v is not None}
                        for number, state in saved["state"].items()
                        if any(v is not None for v in state.values())
                    }
                },
            )


@on_client
def test_groups_and_hyperparameters_come_along():
    first, second = on_two_workers()
    groups = [{"params": first, "lr": 0.5}, {"params": second}]
    saving = DistributedOptimizer(torch.optim.Adam, groups, amsgrad=True)
    step(saving, first, second)
    saving.param_groups[1]["lr"] = 0.25
    saved = saving.state_dict()
    assert [group["params"] for group in saved["param_groups"]] == [[0, 1], [2]]

    loading = DistributedOptimizer(
        torch.optim.Adam, [{"params": first}, {"params": second}], lr=7.0
    )
    # An older file.
    for group in saved["param_groups"]:
        del group["maximize"]
    loading.load_state_dict(saved)
    assert [group["lr"] for group in loading.param_groups] == [0.5, 0.25]
    assert [group["amsgrad"] for group in loading.param_groups] == [True, True]
    assert loading.param_groups[0]["maximize"] is False
    step(loading, first, second)
    state = loading.state_dict()["state"]
    assert [state[number]["step"].item() for number in range(3)] == [2, 2, 2]
    assert "max_exp_avg_sq" in state[2]


@on_client
def test_parameters_without_states_have_none():
    first, second = on_two_workers()
    optimizer = DistributedOptimizer(torch.optim.Adam, [*first, *second])
    assert optimizer.state_dict()["state"] == {}
    step(optimizer, second)
    saved = optimizer.state_dict()
    assert [*saved["state"]] == [2]
    step(optimizer, first, second)
    optimizer.load_state_dict(saved)
    assert_same_state(optimizer.state_dict(), saved)


@on_client
def test_rules_and_states_in_blocks():
    storage = {"exp_avg": "q8_linear", "exp_avg_sq": "q8_companded"}
    first, second = on_two_workers()
    start = collect_parameters([*first, *second])
    two = DistributedOptimizer("AdamW", [*first, *second], storage=storage)
    step(two, first, second)
    saved = two.state_dict()
    assert [*saved["state"][0]] == [
        "step", "exp_avg", "exp_avg.scale", "exp_avg_sq", "exp_avg_sq.scale"
    ]  # fmt: skip
    local = [torch.nn.Parameter(value.clone()) for value in start]
    here = updraft.optimizer("AdamW", local, storage=storage)
    step_local(here, local)
    assert_same_state(saved, here.state_dict())
    step(two, first, second)
    step_local(here, local)
    # Loaded states continue like existing ones.
    rrefs = on_one_worker(start)
    one = DistributedOptimizer("AdamW", rrefs, storage=storage)
    step(one, rrefs)
    one.load_state_dict(saved)
    step(one, rrefs)
    assert_same(collect_parameters([*first, *second]), local)
    assert_same(collect_parameters(rrefs), local)
    other = DistributedOptimizer("AdamW", rrefs, storage={"state": "q8_linear"})
    refuses(
        other,
        saved,
        "the state `exp_avg_sq` is in blocks of q8_companded codes, but the optimizer stores it as "
        "q8_linear; give the optimizer the `storage` that the state was made with",
    )
    plain = DistributedOptimizer("AdamW", rrefs)
    refuses(
        plain,
        saved,
        "parameter 0 has a state `exp_avg.scale`; its class has `step`, `exp_avg`, `exp_avg_sq`, "
        "`max_exp_avg_sq`",
    )
    step(plain, rrefs)
    refuses(
        one,
        plain.state_dict(),
        "states are not loaded on `worker2`: the state `exp_avg` of parameter 0 is not in blocks "
        "of codes, but the rule `AdamW` stores it so here; give the optimizer the `storage` that "
        "the state was made with",
    )


@on_client
def test_states_that_only_vectors_have():
    for kind, options in (
        (torch.optim.Adafactor, {"numerics": "ieee"}),
        (torch.optim.Adafactor, {"storage": {"state": "q8_linear"}}),
        ("RowwiseAdagrad", {}),
        (updraft.load("Adafactor"), {}),
    ):
        rrefs, others = (parameters("worker1", (5, 3), (17,)) for _ in range(2))
        whole = DistributedOptimizer(kind, rrefs, **options)
        for _ in range(4):
            step(whole, rrefs)
        saving = DistributedOptimizer(kind, others, **options)
        for _ in range(2):
            step(saving, others)
        saved = saving.state_dict()
        loading = DistributedOptimizer(kind, others, **options)
        loading.load_state_dict(saved)
        assert_same_state(loading.state_dict(), saved)
        for _ in range(2):
            step(loading, others)
        assert_same(collect_parameters(others), collect_parameters(rrefs))
        assert_same_state(loading.state_dict(), whole.state_dict())


@on_client
def test_states_of_a_group():
    rrefs = parameters("worker1", *SHAPES)
    optimizer = DistributedOptimizer("Prodigy", rrefs)
    step(optimizer, rrefs)
    step(optimizer, rrefs)
    saved = optimizer.state_dict()
    assert saved["state"][0]["d"] == saved["state"][2]["d"] > 0
    other = on_one_worker(collect_parameters(rrefs))
    loading = DistributedOptimizer("Prodigy", other)
    loading.load_state_dict(saved)
    assert_same_state(loading.state_dict(), saved)
    step(optimizer, rrefs)
    step(loading, other)
    assert_same(collect_parameters(other), collect_parameters(rrefs))
    saved["state"][2]["d"] = saved["state"][2]["d"] * 2
    refuses(
        loading,
        saved,
        "states are not loaded on `worker2`: the state `d` is one for the whole group, and that of "
        "parameter 0 is not that of parameter 2; load them into groups as they were saved from",
    )


def refuses(optimizer, saved, message, kind=ValueError):
    """Asserts an error that changes nothing anywhere."""
    before = optimizer.state_dict()
    groups = copy.copy(optimizer.param_groups)
    with pytest.raises(kind) as caught:
        optimizer.load_state_dict(saved)
    assert str(caught.value) == message, caught.value
    assert optimizer.param_groups == groups
    assert_same_state(optimizer.state_dict(), before)


@on_client
def test_damaged_states_are_refused():
    first, second = on_two_workers()
    optimizer = DistributedOptimizer(torch.optim.Adam, [*first, *second], lr=0.5)
    step(optimizer, first, second)
    good = optimizer.state_dict()
    step(optimizer, first, second)

    def damaged(number, name, value):
        saved = copy.deepcopy(good)
        saved["param_groups"][0]["lr"] = 0.125
        if value is None:
            del saved["state"][number][name]
        else:
            saved["state"][number][name] = value
        return saved

    refuses(
        optimizer,
        damaged(2, "exp_avg", torch.zeros(16)),
        "states are not loaded on `worker2`: the states of parameter 2 are not those of the rule: "
        "state `exp_avg` of parameter `2` is [16], but the parameter is [17]; give a tensor of the "
        "same shape and strides",
    )
    refuses(
        optimizer,
        damaged(0, "exp_avg_sq", None),
        "states are not loaded on `worker1`: parameter 0 has no state `exp_avg_sq`; the rule "
        "`Adam` steps with all of its states or with none",
    )
    refuses(
        optimizer,
        damaged(1, "step", torch.tensor(0.5)),
        "states are not loaded on `worker1`: the step count of parameter 1 is 0.5; it is a whole "
        "number from 0 to 2^53",
    )
    refuses(
        optimizer,
        damaged(1, "step", torch.zeros(2)),
        "states are not loaded on `worker1`: the state `step` of parameter 1 has 2 elements; it is "
        "one number",
    )
    refuses(
        optimizer,
        damaged(1, "step", None),
        "parameter 1 has states but no step count `step`",
    )
    refuses(
        optimizer,
        damaged(2, "momentum", torch.zeros(17)),
        "parameter 2 has a state `momentum`; its class has `step`, `exp_avg`, `exp_avg_sq`, "
        "`max_exp_avg_sq`",
    )
    refuses(
        optimizer,
        damaged(2, "exp_avg", "zeros"),
        "the state `exp_avg` of parameter 2 is <class 'str'>; give a tensor or a number",
        TypeError,
    )
    saved = copy.deepcopy(good)
    saved["state"][7] = saved["state"][0]
    refuses(optimizer, saved, "the states of parameter 7 belong to no group")
    saved = copy.deepcopy(good)
    saved["param_groups"][0]["params"] = [0, 1]
    refuses(
        optimizer,
        saved,
        "loaded state dict contains a parameter group that doesn't match the size of "
        "optimizer's group",
    )


@on_client
def test_hooks_see_what_is_saved_and_loaded():
    rrefs = parameters("worker1", (3,))
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, momentum=0.5)
    step(optimizer, rrefs)
    optimizer.register_state_dict_post_hook(lambda o, packed: packed | {"more": 1})
    saved = optimizer.state_dict()
    assert saved["more"] == 1

    def doubled(_, given):
        # The state at that time.
        assert_same_state(optimizer.state_dict(), saved)
        twice = {"momentum_buffer": given["state"][0]["momentum_buffer"] * 2}
        return given | {"state": {0: twice}}

    optimizer.register_load_state_dict_pre_hook(doubled)
    optimizer.load_state_dict(saved)
    loaded = optimizer.state_dict()["state"][0]["momentum_buffer"]
    assert torch.equal(loaded, saved["state"][0]["momentum_buffer"] * 2)


@on_client
def test_a_hook_may_ask_for_the_states_too():
    rrefs = parameters("worker1", (3,))
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, momentum=0.5)
    step(optimizer, rrefs)
    saved = optimizer.state_dict()
    asked = []

    def ask(_):
        if not asked:
            asked.append(None)
            asked[0] = optimizer.state_dict()

    optimizer.register_state_dict_pre_hook(ask)
    assert_same_state(optimizer.state_dict(), saved)
    assert_same_state(asked[0], saved)


@on_client
def test_distributed_checkpoint(folder):
    first, second = on_two_workers()
    two = DistributedOptimizer(torch.optim.AdamW, [*first, *second], lr=0.5)
    step(two, first, second)
    saved = {"params": collect_parameters([*first, *second]), "optimizer": two.state_dict()}
    checkpoint.save(saved, checkpoint_id=folder / "saved", no_dist=True)

    rrefs = parameters("worker2", *SHAPES)
    for rref in rrefs:
        rpc.rpc_sync("worker2", fill, args=(rref, 0.0))
    one = DistributedOptimizer(torch.optim.AdamW, rrefs)
    # Loading writes into existing tensors.
    step(one, rrefs)
    loaded = {"params": collect_parameters(rrefs), "optimizer": one.state_dict()}
    checkpoint.load(loaded, checkpoint_id=folder / "saved", no_dist=True)
    for rref, value in zip(rrefs, loaded["params"], strict=True):
        rpc.rpc_sync("worker2", fill_with, args=(rref, value))
    one.load_state_dict(loaded["optimizer"])
    assert_same_state(one.state_dict(), two.state_dict())
    step(two, first, second)
    step(one, rrefs)
    assert_same(collect_parameters(rrefs), collect_parameters([*first, *second]))


@on_client
def test_references_to_the_parameters_of_modules():
    remote = rpc.remote("worker1", torch.nn.Linear, args=(3, 2))
    here = torch.nn.Linear(2, 2)
    rrefs = parameter_rrefs(remote, here)
    assert [rref.owner_name() for rref in rrefs] == ["worker1", "worker1", "client", "client"]
    values = collect_parameters(rrefs)
    assert [value.shape for value in values] == [(2, 3), (2,), (2, 2), (2,)]
    assert torch.equal(values[2], here.weight)
    with torch.no_grad():
        here.weight.zero_()
    assert values[2].any()
    with pytest.raises(TypeError, match=r"^a module is <class 'int'>; give modules, or references"):
        parameter_rrefs(3)
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs, lr=1.0)
    with dist_autograd.context() as context:
        backward(context, rrefs[:2])
        found = gradients(context, rrefs[:2])
        optimizer.step(context)
    assert_same(collect_parameters(rrefs[:2]), [v - g for v, g in zip(values, found, strict=False)])


@on_client
def test_parameters_are_those_between_steps():
    there = parameters("worker1", (3,))[0]
    here = rpc.RRef(torch.nn.Parameter(torch.ones(2)))
    found = []

    def collect():
        found.append(collect_parameters([there, here]))

    collect()
    for locked in (there, here):
        known = len(found)
        rpc.rpc_sync(locked.owner(), hold_locks, args=(locked,))
        collecting = threading.Thread(target=collect)
        collecting.start()
        collecting.join(0.5)
        assert len(found) == known
        rpc.rpc_sync(locked.owner(), give_up_locks)
        collecting.join()
        assert_same(found[-1], found[0])


class Own(torch.optim.SGD):
    """Has no compiled rule, because a subclass may step differently."""


@on_client
def test_classes_that_step_in_python():
    first, second = on_two_workers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = [{"params": second}, {"params": first, "lr": 0.25}]
        two = DistributedOptimizer(Own, groups, lr=0.5, momentum=0.5)
        step(two, first, second)
        saved = two.state_dict()
        start = collect_parameters([*second, *first])
        rrefs = on_one_worker(start)
        one = DistributedOptimizer(
            Own, [{"params": rrefs[:1]}, {"params": rrefs[1:]}], lr=0.125, momentum=0.5
        )
    assert [*saved["state"]] == [0, 1, 2]
    assert saved["state"][0]["momentum_buffer"].shape == SHAPES[2]
    one.load_state_dict(saved)
    assert_same_state(one.state_dict(), saved)
    step(two, first, second)
    step(one, rrefs)
    assert_same(collect_parameters(rrefs), collect_parameters([*second, *first]))


class Remembering(torch.optim.SGD):
    """Has states that aren't tensors."""

    @torch.no_grad()
    def step(self):
        for param in self.param_groups[0]["params"]:
            state = self.state[param]
            steps = state.get("steps", 0)
            assert type(steps) is int
            kept = [*state.get("kept", ()), param.clone()]
            state.update(steps=steps + 1, early=steps == 0, kept=kept, nothing=None)


@on_client
def test_states_that_are_no_tensors():
    rrefs = parameters("worker1", (3,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = DistributedOptimizer(Remembering, rrefs)
    step(optimizer, rrefs)
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    loaded = optimizer.state_dict()["state"][0]
    assert_same(loaded.pop("kept"), saved["state"][0].pop("kept"))
    assert loaded == saved["state"][0] == {"steps": 1, "early": True, "nothing": None}
    step(optimizer, rrefs)
    assert optimizer.state_dict()["state"][0]["steps"] == 2


@on_client
def test_random_numbers_continue_after_a_load():
    """Parameters of f32 beside those of bf16 take no choice for bf16."""
    for kind, chosen in ((optim.SGD, "param"), (optim.SGD, "state"), (optim.AdamW, "param")):
        options = {"lr": 0.1, "storage": {chosen: "bf16_stochastic"}}
        options |= {"momentum": 0.9} if kind is optim.SGD else {}
        rrefs = [
            *parameters("worker1", (40, 3), dtype=torch.bfloat16),
            *parameters("worker1", (3,)),
        ]
        params = copies(rrefs)
        local = kind(params, **options)
        optimizer = DistributedOptimizer(kind, rrefs, **options)
        for _ in range(2):
            step_both(optimizer, local, rrefs, params)
        saved = optimizer.state_dict()
        optimizer = DistributedOptimizer(kind, rrefs, **options)
        optimizer.load_state_dict(saved)
        assert_same_state(optimizer.state_dict(), saved)
        for _ in range(2):
            step_both(optimizer, local, rrefs, params)
        assert_same([rref.to_here() for rref in rrefs], params)
        expected = local.state_dict()
        # The workers count the steps of the f32 parameter, too.
        expected["state"][1].setdefault("step", expected["state"][0]["step"])
        assert_same_state(optimizer.state_dict(), expected)
        local.load_state_dict(optimizer.state_dict())
        step_both(optimizer, local, rrefs, params)
        assert_same([rref.to_here() for rref in rrefs], params)


@on_client
def test_a_step_count_loads_into_a_class_without_one():
    """SGD counts steps if it rounds stochastically, or for probes."""
    rrefs = parameters("worker1", (40, 3), dtype=torch.bfloat16)
    options = {"lr": 0.1, "momentum": 0.9}
    rounding = DistributedOptimizer(
        optim.SGD, rrefs, storage={"param": "bf16_stochastic"}, **options
    )
    step(rounding, rrefs)
    saved = rounding.state_dict()
    assert "step" in saved["state"][0]
    optimizer = DistributedOptimizer(optim.SGD, rrefs, **options)
    optimizer.load_state_dict(saved)
    loaded = optimizer.state_dict()["state"][0]
    assert_same(loaded["momentum_buffer"], saved["state"][0]["momentum_buffer"])
    step(optimizer, rrefs)


class Descending(optim.SGD):
    """Steps in Python on workers, because it has a `step` of its own."""

    def step(self, closure=None):
        return super().step(closure)


@on_client
def test_storage_types_of_bf16_parameters_alone():
    options = {"lr": 0.1, "storage": {"param": "bf16_stochastic"}}
    with pytest.raises(ValueError) as error:
        DistributedOptimizer(optim.SGD, parameters("worker1", (3,)), **options)
    assert str(error.value) == (
        "`storage` has `param` = bf16_stochastic, but the parameters are torch.float32; convert "
        "them to bfloat16, or leave `param` out"
    )
    rrefs = parameters("worker1", (40, 3), dtype=torch.bfloat16)
    params = copies(rrefs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimizer = DistributedOptimizer(Descending, rrefs, **options)
    step_both(optimizer, Descending(params, **options), rrefs, params)
    assert_same([rref.to_here() for rref in rrefs], params)
    with pytest.raises(TypeError, match="`storage` is <class 'str'>; give a dict"):
        DistributedOptimizer(optim.SGD, rrefs, lr=0.1, storage="bf16")
