"""The client of a world whose other member, `ps`, is `updraft-torch-worker`.

As a program it joins, runs all functions named `check_…`, leaves, and prints their results as JSON:
null, or the text of an error.
"""

import concurrent.futures
import copy
import json
import os
import pathlib
import re
import sys
import time
import traceback
import warnings

import torch
import torch.distributed.autograd as dist_autograd
from joining import join
from torch.distributed import rpc
from torch.nn import functional

import updraft
from updraft import distributed
from updraft.distributed import world
from updraft.distributed.optim import (
    DistributedOptimizer,
    Options,
    collect_parameters,
    operators,
    parameter_rrefs,
)

PS = "ps"
LIMIT = 60.0  # seconds, for one answer


def fails(kind, pattern, function, *args, **kwargs):
    """Asserts that a call fails, with a text that the whole pattern matches."""
    try:
        function(*args, **kwargs)
    except kind as error:
        assert re.fullmatch(pattern, str(error), re.DOTALL), str(error)
    else:
        raise AssertionError(f"no {kind.__name__}")


def computed(function, *args, worker=PS, **kwargs):
    """The result of a function on one worker."""
    return distributed.remote_sync_call(function, args=args, kwargs=kwargs, partitioner=worker)[0]


class Net(torch.nn.Module):
    """An embedding and a layer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Parameter(torch.randn(10, 7))
        self.weight = torch.nn.Parameter(torch.randn(3, 7))
        self.bias = torch.nn.Parameter(torch.zeros(3))

    def forward(self, ids):
        return functional.linear(functional.embedding(ids, self.table), self.weight, self.bias)


class RemoteNet:
    """The same network with its parameters on the worker."""

    def __init__(self, net, prefix):
        self.rrefs = {
            name: distributed.hold_parameter(PS, f"{prefix}.{name}", value)
            for name, value in net.named_parameters()
        }

    def __call__(self, ids):
        rows = computed("embedding", ids, self.rrefs["table"])
        return computed("linear", rows, self.rrefs["weight"], bias=self.rrefs["bias"])


def batches():
    torch.manual_seed(1)
    for _ in range(5):
        yield torch.randint(0, 10, (6,)), torch.randint(0, 3, (6,))


def train_both(prefix, local_kind, remote_kind, **options):
    """Trains the same network here and there; asserts bitwise equality."""
    local = Net()
    there = RemoteNet(copy.deepcopy(local), prefix)
    here = local_kind(local.parameters(), **options)
    remote = DistributedOptimizer(remote_kind, list(there.rrefs.values()), **options)
    for ids, labels in batches():
        here.zero_grad()
        functional.cross_entropy(local(ids), labels).backward()
        here.step()
        with dist_autograd.context() as context:
            dist_autograd.backward(context, [functional.cross_entropy(there(ids), labels)])
            remote.step(context)
        for name, param in local.named_parameters():
            assert torch.equal(there.rrefs[name].to_here(), param), name


def check_training_equals_local_adamw():
    train_both("adamw", updraft.optim.AdamW, torch.optim.AdamW, lr=0.05, weight_decay=0.1)


def check_training_equals_local_torch():
    train_both("sgd", torch.optim.SGD, torch.optim.SGD, lr=0.05, momentum=0.9, nesterov=True)


def step_both(remote, rrefs, local, params):
    """Steps twice here and there with the same gradients; asserts bitwise equality."""
    for factor in (1.0, -0.25):
        inputs = torch.tensor([[0.5, -2.0, 1.5]]) * factor
        with dist_autograd.context() as context:
            outputs = [computed("linear", inputs, rref) for rref in rrefs]
            dist_autograd.backward(context, [torch.cat(outputs, 1).sum()])
            remote.step(context)
        local.zero_grad()
        torch.cat([functional.linear(inputs, param) for param in params], 1).sum().backward()
        local.step()
        for rref, param in zip(rrefs, params, strict=True):
            assert torch.equal(rref.to_here(), param)


def held(prefix):
    """Two parameters there, and the same here."""
    torch.manual_seed(2)
    params = [torch.nn.Parameter(torch.randn(rows, 3)) for rows in (2, 4)]
    rrefs = [
        distributed.hold_parameter(PS, f"{prefix}.{number}", param)
        for number, param in enumerate(params)
    ]
    return rrefs, params


def check_states_go_there_and_back():
    rrefs, params = held("states")
    kind, options = updraft.optim.AdamW, {"lr": 0.05, "weight_decay": 0.1}
    remote, local = DistributedOptimizer(kind, rrefs, **options), kind(params, **options)
    assert remote.state_dict()["state"] == {}
    step_both(remote, rrefs, local, params)
    saved, expected = remote.state_dict(), local.state_dict()
    assert saved["state"].keys() == expected["state"].keys()
    for number, states in expected["state"].items():
        assert [*saved["state"][number]] == [*states]
        for name, value in states.items():
            assert torch.equal(saved["state"][number][name], value), name
    # From there, and from here.
    for given in (saved, expected):
        other = DistributedOptimizer(kind, rrefs, lr=1.0)
        other.load_state_dict(given)
        again = kind(params, lr=1.0)
        again.load_state_dict(expected)
        step_both(other, rrefs, again, params)


def check_states_that_are_refused():
    rrefs, _ = held("refused")
    optimizer = DistributedOptimizer(updraft.optim.AdamW, rrefs)
    saved = optimizer.state_dict()
    saved["state"] = {1: {"step": torch.tensor(3.0), "exp_avg": torch.zeros(4, 3)}}
    fails(
        ValueError,
        "states are not loaded on `ps`: parameter 1 has no state `exp_avg_sq`; the rule `AdamW` "
        "steps with all of its states or with none",
        optimizer.load_state_dict,
        saved,
    )
    assert optimizer.state_dict()["state"] == {}


def check_a_flag_that_changes():
    rrefs, params = held("flag")
    remote = DistributedOptimizer(torch.optim.SGD, rrefs, lr=0.05)
    local = torch.optim.SGD(params, lr=0.05)
    for momentum in (0.0, 0.9, 0.0, 0.9):
        for optimizer in (remote, local):
            optimizer.param_groups[0]["momentum"] = momentum
        step_both(remote, rrefs, local, params)


def check_parameters_are_collected():
    rrefs, params = held("collected")
    here = torch.nn.Linear(2, 3)
    own = parameter_rrefs(here)
    found = collect_parameters([rrefs[1], *own, rrefs[0]])
    for value, expected in zip(found, [params[1], *here.parameters(), params[0]], strict=True):
        assert torch.equal(value, expected)
        assert not value.requires_grad
    found[0].zero_()
    assert torch.equal(rrefs[1].to_here(), params[1])
    fails(
        NotImplementedError,
        r"cannot list the parameters of a module on `ps`: this worker has no Python and cannot "
        r"call Python functions; call a function .*",
        parameter_rrefs,
        rrefs[0],
    )


def check_a_rule_is_compiled_there():
    rule = "rule Halve() { update(param, grad) { next param = param / 2 } }"
    path = pathlib.Path(os.environ["UPDRAFT_TEST_DIR"]) / "halve.upd"
    path.write_text(rule)
    rref = distributed.hold_parameter(PS, "halved", torch.tensor([[2.0, 4.0]]))
    optimizer = DistributedOptimizer(path, [rref])
    with dist_autograd.context() as context:
        loss = computed("linear", torch.ones(1, 2), rref).sum()
        dist_autograd.backward(context, [loss])
        optimizer.step(context)
    assert rref.to_here().tolist() == [[1.0, 2.0]]


def check_rules_of_matrices():
    for name in ("Muon", "SOAP"):
        rrefs, params = held(name)
        options = {"lr": 0.1, "numerics": "ieee"}
        remote = DistributedOptimizer(name, rrefs, **options)
        step_both(remote, rrefs, updraft.optimizer(name, params, **options), params)


def check_values_are_double_too():
    rref = distributed.hold_parameter(PS, "double", torch.ones(2, 2, dtype=torch.float64))
    result = computed("linear", torch.eye(2, dtype=torch.float64), rref)
    assert result.dtype == torch.float64
    assert torch.equal(result, torch.ones(2, 2, dtype=torch.float64))


def check_sparse_gradients():
    table = torch.arange(12.0).reshape(6, 2)
    rref = distributed.hold_parameter(PS, "rows", table)
    optimizer = DistributedOptimizer(torch.optim.SGD, [rref], lr=1.0)
    with dist_autograd.context() as context:
        rows = computed("embedding", torch.tensor([1, 4]), rref, sparse=True)
        dist_autograd.backward(context, [rows.sum()])
        optimizer.step(context)
    table[[1, 4]] -= 1
    assert torch.equal(rref.to_here(), table)


def check_the_first_value_stays():
    first = distributed.hold_parameter(PS, "shared", torch.zeros(2))
    second = distributed.hold_parameter(PS, "shared", torch.ones(2))
    third = distributed.parameter(PS, "shared")
    distributed.assign_parameter(PS, "shared", torch.full((2,), 5.0))
    for rref in (first, second, third):
        assert rref.to_here().tolist() == [5.0, 5.0]
    assert "shared" in distributed.held_parameters(PS)
    assert distributed.drop_parameter(PS, "shared")
    assert not distributed.drop_parameter(PS, "shared")
    assert "shared" not in distributed.held_parameters(PS)
    assert first.to_here().tolist() == [5.0, 5.0]


def check_parameters_that_are_refused():
    fails(
        ValueError,
        r"no parameter was made on `ps`: a parameter came with an empty name; give one to ask for "
        r"it by",
        distributed.hold_parameter,
        PS,
        "",
        torch.zeros(2),
    )
    distributed.hold_parameter(PS, "taken", torch.zeros(2))
    fails(
        ValueError,
        r"no parameter was made on `ps`: the parameter `taken` is there with shape \[2\] and type "
        r"Float, and what was given has shape \[3\] and type Float",
        distributed.hold_parameter,
        PS,
        "taken",
        torch.zeros(3),
    )
    fails(
        ValueError,
        r"no parameter was made on `ps`: the parameter `ints` has type Long, for which there are "
        r"no gradients; give floating-point or complex values",
        distributed.hold_parameter,
        PS,
        "ints",
        torch.zeros(3, dtype=torch.int64),
    )
    fails(
        ValueError,
        r"no parameter was made on `ps`: the parameter `coo` is sparse; give dense values",
        distributed.hold_parameter,
        PS,
        "coo",
        torch.eye(3).to_sparse(),
    )
    fails(
        IndexError,
        r"`ps` holds no parameter `none`; it holds .*`taken`.*",
        distributed.parameter,
        PS,
        "none",
    )
    fails(
        IndexError,
        r"nothing was assigned on `ps`: this worker holds no parameter `none`",
        distributed.assign_parameter,
        PS,
        "none",
        torch.zeros(1),
    )


def check_arguments_that_are_refused():
    x = torch.ones(1, 2)
    for kind, text, args, kwargs in [
        (
            ValueError,
            "this worker has no function `f`; it has `embedding`, `fail_with`, `hold_locks`, "
            "`linear`, `spread`, `tower`",
            ["f"],
            {},
        ),
        (TypeError, "`linear` needs the argument `weight`", ["linear", x], {}),
        (
            TypeError,
            "`linear` takes 3 positional arguments, and 4 were given",
            ["linear", x, x, None, None],
            {},
        ),
        (
            TypeError,
            "`linear` got two values for its argument `input`",
            ["linear", x, x],
            {"input": x},
        ),
        (TypeError, "`linear` has no argument `wait`", ["linear", x, x], {"wait": 1}),
        (
            TypeError,
            "the argument `weight` of `linear` is Tensor, and something else was given",
            ["linear", x, 3],
            {},
        ),
        (
            TypeError,
            "the argument `sparse` of `embedding` is bool, and something else was given",
            ["embedding", x, x],
            {"sparse": "yes"},
        ),
    ]:
        text = f"worker `ps`, part 0 of 1: {text}"
        fails(kind, re.escape(text) + ".*", computed, *args, **kwargs)
    fails(
        TypeError,
        r"argument 0 of `linear` is <class 'object'>; a function in C\+\+ takes tensors, references"
        r" to tensors of its worker, numbers, strings, None, and lists of these",
        computed,
        "linear",
        object(),
    )
    fails(
        ValueError,
        r"argument 0 of `linear` refers to a tensor of `client`, but the function runs on `ps`; "
        r"call it on `client`, or send the value: `to_here\(\)`",
        computed,
        "linear",
        rpc.RRef(x),
    )


def check_errors_of_a_function():
    fails(
        RuntimeError,
        r"worker `ps`, part 0 of 1: .*mat1 and mat2 shapes cannot be multiplied .*",
        computed,
        "linear",
        torch.ones(2, 3),
        torch.ones(2, 4),
    )


NO_PYTHON = r".*this worker has no Python and cannot call Python functions; call a function .*"


def check_python_functions_are_refused():
    fails(RuntimeError, NO_PYTHON, rpc.rpc_sync, PS, len, args=([],))
    fails(RuntimeError, NO_PYTHON, computed, len, [])
    with dist_autograd.context():
        fails(RuntimeError, NO_PYTHON, rpc.rpc_sync, PS, len, args=([],))


def check_steps_in_python_are_refused():
    rref = distributed.hold_parameter(PS, "searched", torch.ones(2, 2))
    for kind in (torch.optim.LBFGS, torch.optim.Muon, "Muon"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refused = rf"no optimizer was made on `ps`: {NO_PYTHON}"
            fails(NotImplementedError, refused, DistributedOptimizer, kind, [rref], lr=1.0)


def check_python_objects_are_refused():
    rref = rpc.remote(PS, len, args=([],))
    fails(RuntimeError, NO_PYTHON, rref.to_here)
    with dist_autograd.context():
        fails(RuntimeError, NO_PYTHON, rpc.remote(PS, len, args=([],)).to_here)


def check_other_operators_are_refused():
    x = torch.ones(2, requires_grad=True)
    refused = r".*this worker cannot run `aten::add`; it only runs Updraft's operators, and .*"
    fails(RuntimeError, refused, rpc.rpc_sync, PS, torch.add, args=(x, x))
    with dist_autograd.context():
        fails(RuntimeError, refused, rpc.rpc_sync, PS, torch.add, args=(x, x))
    kept = r".*this worker cannot keep the result of `aten::add`; it only keeps parameters: .*"
    fails(RuntimeError, kept, rpc.remote(PS, torch.add, args=(x, x)).to_here)


def check_a_backward_of_its_own_is_refused():
    rref = distributed.hold_parameter(PS, "begun", torch.tensor(1.0))
    with dist_autograd.context() as context:
        fails(
            RuntimeError,
            r".*this worker cannot start a backward; call `torch.distributed.autograd.backward` .*",
            rref.backward,
            context,
        )


def check_a_profiler_is_refused():
    with torch.autograd.profiler_legacy.profile():
        fails(
            RuntimeError,
            r".*this worker does not support messages of type 0x115, such as a profiler's.*",
            rpc.rpc_sync,
            PS,
            torch.add,
            args=(torch.ones(1), torch.ones(1)),
        )


def check_functions_that_were_loaded():
    rref = distributed.hold_parameter(PS, "scaled", torch.ones(2))
    with dist_autograd.context() as context:
        low, high, text = computed(
            "spread", [rref, torch.full((2,), 3.0)], 2, float("inf"), [1, 2], "name", None
        )
        assert low.tolist() == [2.0, 2.0]
        assert high.tolist() == [6.0, 6.0]
        assert text == "inf 3 name"
        dist_autograd.backward(context, [low.sum()])
        assert dist_autograd.get_gradients(context) == {}
        optimizer = DistributedOptimizer(torch.optim.SGD, [rref], lr=1.0)
        optimizer.step(context)
    assert rref.to_here().tolist() == [-1.0, -1.0]


def check_the_function_of_the_page():
    ids = torch.tensor([[0, 2], [1, 1]])
    table, weight = torch.arange(6.0).reshape(3, 2) - 2, torch.tensor([[1.0, 10.0]])
    there = [
        distributed.hold_parameter(PS, name, value)
        for name, value in [("table", table), ("tower", weight)]
    ]
    result = computed("tower", ids, *there)
    expected = functional.linear(functional.embedding(ids, table).mean(1).relu(), weight)
    assert torch.equal(result, expected)


def check_names_of_the_worker():
    """Also in a world without torchrun."""
    removed = {name: os.environ.pop(name) for name in world.VARIABLES if name in os.environ}
    try:
        x = torch.ones(1, 2)
        for worker in PS, 1, rpc.get_worker_info(PS):
            assert distributed.get_worker_id(worker) == 1
            distributed.hold_parameter(worker, "named", x)
            assert "named" in distributed.held_parameters(worker)
            assert torch.equal(computed("linear", x, x, worker=worker), torch.full((1, 1), 2.0))
        unknown = "unknown worker `other`; there are `client`, `ps`"
        fails(ValueError, unknown, distributed.held_parameters, "other")
        fails(ValueError, unknown, computed, "linear", x, x, worker="other")
        fails(ValueError, "unknown worker 2; the world has 2", distributed.parameter, 2, "x")
    finally:
        os.environ.update(removed)


def check_a_call_that_is_not_waited_for():
    x = torch.ones(1, 2)
    future = distributed.remote_async_call("linear", args=(x, x), partitioner=PS)
    assert future.wait()[0].tolist() == [[2.0]]


def check_a_context_that_is_closed():
    x = torch.ones(1, 2)
    rref = distributed.hold_parameter(PS, "kept", x)
    with dist_autograd.context() as context:
        dist_autograd.backward(context, [computed("linear", x, rref).sum()])
    fails(
        RuntimeError,
        r".*Could not find autograd context with id: .*",
        DistributedOptimizer(torch.optim.SGD, [rref], lr=1.0).step,
        context,
    )
    assert torch.equal(rref.to_here(), x)


def asked(name, *args):
    """Calls an operator of the worker, like a buggy client."""
    return operators.call(rpc.get_worker_info(PS), name, *args, timeout=LIMIT)


def check_references_that_there_are_not():
    """Requests with unknown references don't block threads for long: there are four."""
    begin = time.monotonic()
    text = json.dumps({"args": [{"rref": [0, 10**9]}] * 2, "kwargs": {}})
    asking = [asked("await", [0], [10**9], wait) for wait in (1e300, float("inf"), 60.0)]
    asking += [asked("copies", [0], [10**9], [3]), asked("call", "linear", text, [])] * 4
    for future in asking[:3]:
        assert future.wait() == 0
    for future, named in zip(
        asking[3:], ["parameter 3", "the argument `input` of `linear`"] * 4, strict=True
    ):
        fails(
            RuntimeError,
            f"TimeoutError: timed out after 1 s waiting for {named}: the call that creates it on "
            r"this worker has not finished, or was never requested\s*",
            future.wait,
        )
    assert time.monotonic() - begin < LIMIT / 2
    for wait in (0.0, -1.0, float("nan")):
        fails(
            RuntimeError,
            rf"ValueError: a request waits {wait:g} seconds for references; give a number above 0",
            asked("await", [0], [10**9], wait).wait,
        )
    for maker in (-1, 2**15, 2**16):
        fails(
            RuntimeError,
            rf"ValueError: a reference came as one that worker {maker} has made; workers count "
            r"from 0 to 32767\s*",
            asked("copies", [maker], [1], [0]).wait,
        )


def check_places_of_tensors_that_there_are_not():
    for place in (1, -1, 2**62):
        text = json.dumps({"args": [{"tensor": place}], "kwargs": {}})
        fails(
            RuntimeError,
            rf"ValueError: the argument `input` of `linear` is tensor {place} of those that came "
            r"with the call, which are 1\s*",
            asked("call", "linear", text, [torch.ones(1)]).wait,
        )
    for given in ({"tensor": "0"}, {"tensor": 2**64}, {"rref": 3}, {"rref": [0, "x"]}, {}):
        text = json.dumps({"args": [given], "kwargs": {}})
        fails(
            RuntimeError,
            r"TypeError: the argument `input` of `linear` is Tensor, and something else was given"
            r"\s*",
            asked("call", "linear", text, [torch.ones(1)]).wait,
        )


def check_requests_that_are_damaged():
    parse = "parse error at line 1, column {}: syntax error while parsing value - invalid literal; "
    for text, damage in [
        ("w", parse.format(1) + "last read: 'w'"),
        ("é", parse.format(1) + "last read: '?'"),
        ("{}", "key '{}' not found"),
        ("null", "cannot use at() with null"),
    ]:
        for what, key, asking in (
            ("the arguments of `linear` are", "args", asked("call", "linear", text, [])),
            ("the request for an optimizer is", "filename", asked("create", 1, text, [], [])),
        ):
            said = f"ValueError: {what} damaged: {damage.replace('{}', key)}"
            fails(RuntimeError, re.escape(said) + r"\s*", asking.wait)


def check_errors_that_are_not_utf8():
    for text, said in [
        (b"caf\xc3\xa9", "café"),
        (b"cut: \xc3", "cut: ?"),
        (b"overlong: \xc0\xaf", "overlong: ??"),
        (b"surrogate: \xed\xa0\x80", "surrogate: ???"),
        (b"too large: \xf4\x90\x80\x80", "too large: ????"),
    ]:
        arguments = json.dumps({"args": [list(text)], "kwargs": {}})
        asking = asked("call", "fail_with", arguments, [])
        fails(RuntimeError, re.escape(f"RuntimeError: {said}") + r"\s*", asking.wait)


def check_what_a_remote_optimizer_has_of_a_reference():
    rrefs, _ = held("reference")
    (remote,) = DistributedOptimizer(torch.optim.SGD, rrefs).remote_optimizers
    assert (remote.owner().name, remote.owner_name()) == (PS, PS)
    assert (remote.is_owner(), remote.confirmed_by_owner()) == (False, True)
    value = (
        "its states are in `state_dict()` of the `DistributedOptimizer`, its hyperparameters in "
        "`param_groups`"
    )
    calls = (
        "call `step`, `state_dict` and `load_state_dict` of the `DistributedOptimizer`, which ask "
        "all workers"
    )
    backward = "call `torch.distributed.autograd.backward` with the context and the loss"
    for method, hint in [
        ("to_here", value),
        ("local_value", value),
        ("rpc_sync", calls),
        ("rpc_async", calls),
        ("remote", calls),
        ("backward", backward),
    ]:
        text = f"the optimizer on `{PS}` has no `{method}()`: it isn't a Python object; {hint}"
        fails(NotImplementedError, re.escape(text), getattr(remote, method))


def check_numbers_of_contexts_that_torch_cannot_hold():
    rrefs, _ = held("context")
    optimizer = DistributedOptimizer(torch.optim.SGD, rrefs)
    one = torch.ones(1, requires_grad=True)
    for use in (
        optimizer.step,
        distributed.autograd.get_gradients,
        lambda number: distributed.autograd.backward(number, one),
        lambda number: distributed.autograd.grad(number, one, one),
    ):
        for number in (-1, 2**62, 2**63, -(2**63) - 1, 10**30):
            fails(RuntimeError, f"Could not find autograd context with id: {number}", use, number)
        for number in ("1", 1.0, None, True, [1]):
            text = f"`context_id` is {type(number)}; give the number of a context"
            fails(TypeError, re.escape(text), use, number)


def share():
    """Steps a parameter that other clients also step, until all have finished."""
    steps = 25
    rref = distributed.hold_parameter(PS, "together", torch.zeros(2, 4))
    optimizer = DistributedOptimizer(torch.optim.SGD, [rref], lr=1.0)
    for _ in range(steps):
        with dist_autograd.context() as context:
            outputs = computed("linear", torch.ones(1, 4), rref)
            dist_autograd.backward(context, [outputs.sum()])
            optimizer.step(context)
    expected = torch.full((2, 4), -float(steps * (int(os.environ["WORLD_SIZE"]) - 1)))
    # Until the test kills this process.
    while not torch.equal(rref.to_here(), expected):
        time.sleep(0.05)
    assert distributed.lock_wait(PS) >= 0


def within_a_context(finish):
    """Computes gradients of a parameter that two clients share, and calls a function to finish."""
    rref = distributed.hold_parameter(PS, "survivor", torch.zeros(2, 4))
    optimizer = DistributedOptimizer(torch.optim.SGD, [rref], lr=1.0)
    with dist_autograd.context() as context:
        outputs = computed("linear", torch.ones(1, 4), rref)
        dist_autograd.backward(context, [outputs.sum()])
        finish(optimizer, context)
    return rref


def survive():
    """Steps the parameter that the other client has left, after that has ended."""
    print("joined", flush=True)
    sys.stdin.readline()
    for _ in range(3):
        rref = within_a_context(DistributedOptimizer.step)
    assert torch.equal(rref.to_here(), torch.full((2, 4), -3.0))
    print("stepped", flush=True)
    # The other client can't leave together with this one.
    os._exit(0)


def step_while_one_dies():
    """Steps parameters of two workers; meanwhile the test kills the first one."""
    timeout = 60.0
    names = ["ps1", "ps2"]
    rrefs = [distributed.hold_parameter(name, "stepped", torch.zeros(2, 4)) for name in names]
    optimizer = DistributedOptimizer(
        torch.optim.SGD, rrefs, lr=1.0, options=Options(timeout=timeout)
    )
    inputs, stepped = torch.ones(1, 4), torch.full((2, 4), -1.0)
    there = "it is unknown whether a step ran on `ps1`: "
    elsewhere = "; the request succeeded on `ps2`"
    with dist_autograd.context() as context:
        outputs = [computed("linear", inputs, rref, worker=rref.owner()) for rref in rrefs]
        dist_autograd.backward(context, [sum(outputs).sum()])
        assert computed("hold_locks", rrefs[0], worker="ps1")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            begin = time.monotonic()
            step = pool.submit(optimizer.step, context)
            while not torch.equal(rrefs[1].to_here(), stepped):
                assert time.monotonic() < begin + timeout / 2
            # Requests are begun in order, so the step is waiting for the locks now.
            distributed.held_parameters("ps1")
            assert not step.done()
            print("stepping", flush=True)
            error = str(step.exception(timeout / 2))
            assert error.startswith(there), error
            assert error.endswith(elsewhere), error
        fails(RuntimeError, f"{there}.*{elsewhere}", optimizer.step, context)
        assert torch.equal(rrefs[1].to_here(), stepped)
    print("told", flush=True)
    # The dead worker can't leave together with this one.
    os._exit(0)


def run_checks():
    results = {}
    for name, check in sorted(globals().items()):
        if name.startswith("check_"):
            try:
                check()
                results[name] = None
            except Exception:
                results[name] = traceback.format_exc()
    return results


if __name__ == "__main__":
    transports = os.environ.get("UPDRAFT_TEST_TRANSPORTS")
    join(
        "client" if os.environ["WORLD_SIZE"] == "2" else None,
        **({"_transports": transports.split(",")} if transports else {}),
    )
    if sys.argv[1:] == ["go away"]:
        distributed.held_parameters(PS)
        os._exit(0)
    if sys.argv[1:] == ["wait"]:
        print("joined", flush=True)
        sys.stdin.readline()
        try:
            distributed.held_parameters(PS)
        except RuntimeError as error:
            print(type(error).__name__, flush=True)
        os._exit(0)
    if sys.argv[1:] == ["die within a context"]:
        # The context is open on the worker too.
        within_a_context(lambda optimizer, context: os._exit(0))
    if sys.argv[1:] == ["survive"]:
        survive()
    if sys.argv[1:] == ["step while one dies"]:
        step_while_one_dies()
    if sys.argv[1:] == ["share"]:
        share()
    if sys.argv[1:] == ["ask"]:
        distributed.held_parameters(PS)
    results = run_checks() if not sys.argv[1:] else {}
    rpc.shutdown()
    print(json.dumps(results))
