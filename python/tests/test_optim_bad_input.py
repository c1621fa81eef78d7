"""Misuse of optimizers that torch accepts: compiled ones accept it too, or raise an error."""

import copy

import numpy
import pytest
import torch

from updraft import optim

from .torch_training import assert_close, assert_same_states, parameters, set_gradients

SHAPES = [(9,), (4, 2)]


def in_both(run, **arguments):
    """Runs it with torch's optimizer and with the compiled one; the results must be equal."""
    ends = []
    for module in (torch.optim, optim):
        params = parameters(shapes=SHAPES)
        each = module.Adam(params, foreach=False, **arguments)
        for step in range(2):
            set_gradients(params, step)
            each.step()
        run(each, params)
        for step in range(2, 4):
            set_gradients(params, step)
            each.step()
        ends.append((each, params))
    (reference, theirs), (optimizer, ours) = ends
    assert_close(theirs, ours, 4)
    assert_same_states(reference, optimizer)


def double_storage(optimizer, params):
    for state in optimizer.state.values():
        state["exp_avg"].set_(state["exp_avg"] * 2)


def free_and_allocate(optimizer, params):
    # The loaded states are torch's.
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    set_gradients(params, 2)
    optimizer.step()
    for state in optimizer.state.values():
        average = state["exp_avg"]
        kept, memory = average.clone(), average.untyped_storage()
        size = memory.nbytes()
        memory.resize_(0)
        memory.resize_(size + 4096)
        average.copy_(kept)


@pytest.mark.parametrize("replace", [double_storage, free_and_allocate])
def test_the_memory_of_states_is_replaced(replace):
    in_both(replace)


@pytest.mark.parametrize(
    "count", [5, 5.0, torch.tensor(5), torch.tensor([5.0]), torch.tensor(5.0).bfloat16()]
)
def test_step_counts_as_files_have_them(count):
    def run(optimizer, params):
        packed = copy.deepcopy(optimizer.state_dict())
        for state in packed["state"].values():
            state["step"] = float(count) if isinstance(count, int | float) else count.clone()
        optimizer.load_state_dict(packed)

    theirs, ours = parameters(shapes=SHAPES), parameters(shapes=SHAPES)
    reference, optimizer = torch.optim.Adam(theirs, foreach=False), optim.Adam(ours)
    for params, each in ((theirs, reference), (ours, optimizer)):
        set_gradients(params, 0)
        each.step()
        run(each, params)
        if each is reference:
            for state in each.state.values():
                state["step"] = torch.tensor(float(state["step"]))
        set_gradients(params, 1)
        each.step()
    assert_close(theirs, ours, 2)
    assert [float(state["step"]) for state in optimizer.state.values()] == [6, 6]


@pytest.mark.parametrize("count", [-1.0, 2.5, float("nan"), float("inf"), 1e30])
def test_an_invalid_step_count_is_refused(count):
    params = parameters(shapes=SHAPES)
    optimizer = optim.Adam(params)
    set_gradients(params, 0)
    optimizer.step()
    optimizer.state[params[0]]["step"].fill_(count)
    before = params[0].detach().clone()
    with pytest.raises(ValueError, match="a whole number from 0 to 2\\^53"):
        optimizer.step()
    assert params[0].equal(before)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_no_step_goes_beyond_the_largest_count(dtype):
    params = parameters(shapes=[(3,), (2, 2)])
    optimizer = optim.AdamW(params)
    set_gradients(params, 0)
    optimizer.step()
    optimizer.state[params[1]]["step"] = torch.tensor(2.0**53, dtype=dtype)
    before = [param.detach().clone() for param in params]
    for _ in range(2):
        with pytest.raises(ValueError) as error:
            optimizer.step()
        assert str(error.value) == (
            "parameter `1` has taken 2^53 steps, and none is counted beyond; set its step count"
        )
    assert all(map(torch.equal, params, before))
    assert [optimizer.state[param]["step"].item() for param in params] == [1, 2.0**53]
    optimizer.state[params[1]]["step"].fill_(1)
    optimizer.step()
    assert [optimizer.state[param]["step"].item() for param in params] == [2, 2]


@pytest.mark.parametrize("truth", [1, 0, None, "yes", torch.tensor(True)])
def test_flags_are_what_is_true_for_python(truth):
    def end(value):
        params = parameters(shapes=SHAPES)
        optimizer = optim.AdamW(params, amsgrad=value, maximize=value)
        set_gradients(params, 0)
        optimizer.step()
        return params

    for one, other in zip(end(truth), end(bool(truth)), strict=True):
        assert one.equal(other)


def without_memory():
    param = torch.nn.Parameter(torch.ones(5))
    param.untyped_storage().resize_(0)
    return param


IDLE = {
    "integers": lambda: torch.nn.Parameter(torch.ones(3, dtype=torch.int8), requires_grad=False),
    "float8": lambda: torch.nn.Parameter(torch.ones(3).to(torch.float8_e4m3fn), False),
    "elsewhere": lambda: torch.nn.Parameter(torch.ones(3, device="meta")),
    "sparse": lambda: torch.nn.Parameter(torch.eye(3).to_sparse(), requires_grad=False),
    "lazy": lambda: torch.nn.LazyLinear(3).weight,
    "without memory": without_memory,
}


@pytest.mark.parametrize("kind", IDLE)
def test_parameters_without_a_gradient_need_no_step(kind):
    plain, other = torch.nn.Parameter(torch.ones(3)), IDLE[kind]()
    optimizer = optim.with_clipping(optim.SGD([other, plain], lr=0.5), max_norm=100.0)
    for _ in range(2):
        plain.grad = torch.ones(3)
        optimizer.step()
    assert plain.equal(torch.zeros(3))
    if kind == "without memory":
        other.untyped_storage().resize_(20)
        with torch.no_grad():
            other.fill_(1.0)
    elif kind == "lazy":
        other.materialize((3, 5))
        torch.nn.init.ones_(other)
    else:
        return
    other.grad = torch.ones_like(other)
    optimizer.step()
    assert other.equal(torch.full_like(other, 0.5))


def test_the_default_device_does_not_matter():
    param = torch.nn.Parameter(torch.ones(4, 3))
    optimizer = optim.Muon([param], lr=0.1)
    param.grad = torch.ones(4, 3)
    with torch.device("meta"):
        optimizer.step()
    assert (param < 1).all()


def test_lazily_negated_parameters_and_gradients_of_zeros():
    memory = torch.ones(4)
    param = torch.nn.Parameter(torch._neg_view(memory))
    optimizer = optim.SGD([param], lr=0.5)
    param.grad = torch.ones(4)
    optimizer.step()
    assert param.equal(torch.full((4,), -1.5))
    assert memory.equal(torch.full((4,), 1.5))
    param.grad = torch._efficientzerotensor((4,))
    optimizer.step()
    assert memory.equal(torch.full((4,), 1.5))


def test_release_while_a_step_runs():
    """From another thread."""
    params = parameters(shapes=SHAPES)
    optimizer = optim.SGD([{"params": [param]} for param in params], lr=1.0)
    set_gradients(params, 0)
    optimizer.step()

    class Releasing:
        reads_on_device = False
        calls_operators = False

        def accept(self, *_):
            pass

        def prepare(self, *_):
            optimizer.release()
            return True

        def apply(self, *_):
            optimizer.release()

    optimizer._compiled[0].buckets.insert(0, Releasing())
    before = [(param - param.grad).detach() for param in params]
    optimizer.step()
    for param, after in zip(params, before, strict=True):
        assert torch.allclose(param, after)


def of_integers(count):
    count.data = torch.tensor(2)


def negated_lazily(count):
    count.data = torch._neg_view(torch.tensor(-2.0))


@pytest.mark.parametrize("change", [of_integers, negated_lazily])
def test_a_count_is_made_another_tensor(change):
    params, alone = (parameters(shapes=SHAPES) for _ in range(2))
    optimizer, reference = optim.Adam(params), optim.Adam(alone)
    for step in range(4):
        if step == 2:
            change(optimizer.state[params[0]]["step"])
        for some, each in ((params, optimizer), (alone, reference)):
            set_gradients(some, step)
            each.step()
    assert all(map(torch.equal, params, alone))
    assert optimizer.state[params[0]]["step"] == 4


def step_behind(change):
    """Steps a compiled optimizer after a change; the parameters must stay unchanged."""
    params = parameters(shapes=SHAPES)
    optimizer = optim.Adam(params)
    set_gradients(params, 0)
    optimizer.step()
    change(optimizer, params[0])
    before = [param.detach().clone() for param in params]
    try:
        optimizer.step()
    finally:
        assert all(map(torch.equal, params, before))


def test_a_count_without_elements():
    with pytest.raises(ValueError, match="only one element tensors"):
        step_behind(lambda optimizer, param: optimizer.state[param]["step"].resize_(0))


def test_states_without_a_count():
    with pytest.raises(
        ValueError,
        match="parameter 0 has the state `exp_avg` but no `step`; give it all of its states",
    ):
        step_behind(lambda optimizer, param: optimizer.state[param].pop("step"))


def test_a_state_that_is_made_smaller_where_it_is():
    with pytest.raises(ValueError, match=r"state `exp_avg` of parameter `0` is \[2\]"):
        step_behind(lambda optimizer, param: optimizer.state[param]["exp_avg"].resize_(2))


def test_states_that_are_negated_lazily():
    def negate(optimizer, params):
        for state in optimizer.state.values():
            state["exp_avg"] = torch._neg_view(-state["exp_avg"])

    in_both(negate)


@pytest.mark.parametrize("name, shape", [("Adam", (9,)), ("Muon", (4, 2))])
def test_a_parameter_whose_elements_are_the_same(name, shape):
    params = parameters(shapes=[shape, shape])
    optimizer = getattr(optim, name)(params)
    set_gradients(params, 0)
    optimizer.step()
    params[1].data = torch.ones(1).expand(shape)
    before = copy.deepcopy(optimizer.state_dict()["state"]), params[0].detach().clone()
    with pytest.raises(RuntimeError, match="more than one element of the written-to"):
        optimizer.step()
    assert torch.equal(params[0], before[1])
    for number, state in before[0].items():
        for key, value in state.items():
            assert torch.equal(value, optimizer.state_dict()["state"][number][key])
    params[1].grad = None
    optimizer.step()


@pytest.mark.parametrize("offset", [0, 4])
def test_a_parameter_in_memory_that_is_gone(offset):
    storage = torch.ones(13)
    param = torch.nn.Parameter(storage[offset : offset + 9])
    param.grad = torch.ones(9)
    optimizer = optim.Adam([param])
    optimizer.step()
    storage.untyped_storage().resize_(0)
    with pytest.raises(ValueError, match="parameter `0` has 9 elements, but its data is null"):
        optimizer.step()
    param.grad = None
    optimizer.step()


def inference_tensor(shape):
    with torch.inference_mode():
        return torch.ones(shape)


# torch raises it after the write.
OUTSIDE = "Inplace update to inference tensor outside InferenceMode is not allowed"


@pytest.mark.parametrize("late", [False, True], ids=["at once", "after a step without"])
@pytest.mark.parametrize("name, transpose", [("Adam", False), ("Adam", True), ("Muon", False)])
def test_inference_tensors_are_stepped_in_inference_mode(name, transpose, late):
    param, plain = inference_tensor((4, 2)), torch.ones(2, 4)
    if transpose:
        param = param.t()
    optimizer = getattr(optim, name)([plain, param])
    plain.grad = torch.ones(2, 4)
    if late:
        optimizer.step()
    before = plain.clone()
    with torch.inference_mode():
        param.grad = torch.ones_like(param)
    with pytest.raises(RuntimeError, match=OUTSIDE):
        optimizer.step()
    assert (param == 1).all()
    assert plain.equal(before)
    with torch.inference_mode():
        optimizer.step()
    assert (param != 1).all()


def test_betas_in_an_array():
    def change(optimizer, params):
        optimizer.param_groups[0]["betas"] = numpy.array([0.7, 0.8])

    in_both(change)


def given_later(name, value):
    def attempt(make):
        (param,) = parameters(shapes=[(4, 2)])
        optimizer = make([param])
        set_gradients([param], 0)
        optimizer.step()
        optimizer.param_groups[0][name] = value
        optimizer.step()

    return attempt


@pytest.mark.parametrize("make", [optim.Adam, optim.Lion, optim.SGD, optim.Muon])
def test_text_is_no_number(make):
    with pytest.raises(TypeError) as error:
        given_later("lr", "0.1")(make)
    assert str(error.value) == "hyperparameter `lr` is <class 'str'>; give a number"


@pytest.mark.parametrize(
    ("name", "entry", "value"),
    [
        ("Adam", "betas", (0.9, 0.99, 0.999)),
        ("Adam", "betas", torch.tensor([0.9, 0.99, 0.999])),
        ("Rprop", "etas", [0.5, 1.2, 2.0]),
        ("Rprop", "step_sizes", [0.1, 1.0, 2.0]),
        ("Adafactor", "eps", (None, 1e-3, 1.0)),
    ],
)
def test_more_elements_than_two(name, entry, value):
    attempt = given_later(entry, value)
    with pytest.raises(ValueError, match="too many values to unpack"):
        attempt(getattr(torch.optim, name))
    with pytest.raises(ValueError) as error:
        attempt(getattr(optim, name))
    assert str(error.value) == f"`{entry}` has 3 elements; give 2"


def test_more_betas_than_a_rule_has():
    with pytest.raises(ValueError) as error:
        optim.Lion(parameters(), betas=(0.9, 0.99, 0.999))
    assert str(error.value) == "`betas` has 3 elements; give 2"


@pytest.mark.parametrize("make", [optim.AdamW, optim.Lion, optim.Adafactor, optim.NAdam])
@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (None, TypeError, "<class 'NoneType'>; give a number"),
        ([1.0], TypeError, "<class 'list'>; give a number"),
        (1j, TypeError, "<class 'complex'>; give a number"),
        (torch.tensor(1j), TypeError, "torch.complex64; give a real number"),
        (torch.ones(2), ValueError, "a tensor of 2 elements; give a number, or a tensor of one"),
    ],
)
@pytest.mark.parametrize("stepped", [False, True])
def test_hyperparameters_that_are_not_numbers(make, value, kind, text, stepped):
    params = parameters(shapes=SHAPES)
    optimizer = make(params)
    set_gradients(params, 0)
    if stepped:
        optimizer.step()
    optimizer.param_groups[0]["weight_decay"] = value
    with pytest.raises(kind, match=f"^hyperparameter `weight_decay` is {text}$"):
        optimizer.step()


@pytest.mark.parametrize("names", [None, ["x", "y", "z"]])
def test_messages_have_the_number_in_the_optimizer_or_the_name(names):
    params = parameters(shapes=[(3,), (3,), (3,)])
    given = params if names is None else [*zip(names, params, strict=True)]
    optimizer = optim.AdamW([{"params": given[:2]}, {"params": given[2:]}])
    set_gradients(params, 0)
    optimizer.step()
    params[2].data = torch.ones(4)
    shown = "2" if names is None else "z"
    with pytest.raises(ValueError, match=rf"^state `exp_avg` of parameter `{shown}` is \[3\]"):
        optimizer.step()


def test_messages_distinguish_the_matrices_of_a_parameter():
    param = torch.nn.Parameter(torch.ones(4, 2))
    first = torch.nn.Parameter(torch.ones(2))
    groups = [{"params": [first]}, {"params": [param], "matrix_blocks": (2, 2)}]
    optimizer = optim.Lion(groups)
    param.grad = torch.ones(4, 2)
    optimizer.step()
    (entry,) = optimizer._compiled[1:]
    assert entry.buckets[0]._names(groups[1]) == ["1, matrix 0", "1, matrix 1"]
