"""Lifetimes of arrays and optimizers, and changes to memory that an optimizer doesn't know of."""

import array
import gc
import threading
import time
import weakref

import numpy
import pytest
import torch

import updraft

from .changing_indices import changing

COUNT = 4

GROUP_STATE = """
rule Counted(lr = 0.1) {
  state total over group = 0
  update(param, grad) {
    next total = total + group_sum(grad)
    next param = param - lr * total
  }
}
"""


def ones(*shape, dtype="float32"):
    return numpy.ones(shape, dtype=dtype)


class Array(numpy.ndarray):
    """An array with attributes, which numpy's own don't have."""


class Exporter:
    """An object with only `__dlpack__` and attributes."""

    def __init__(self, count=COUNT):
        self.array = ones(count)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def is_collected(reference):
    gc.collect()
    return reference() is None


def test_a_view_of_a_bound_state_keeps_the_array(momentum):
    first = numpy.full(COUNT, 7, dtype="float32")
    reference = weakref.ref(first)
    optimizer = updraft.ArrayOptimizer(momentum, [ones(COUNT)])
    optimizer.bind_state(0, "velocity", first)
    view = optimizer.state(0)["velocity"]
    optimizer.bind_state(0, "velocity", ones(COUNT))
    del first
    assert not is_collected(reference)
    assert view.tolist() == [7] * COUNT
    assert optimizer.state(0)["velocity"].tolist() == [1] * COUNT
    del view
    assert is_collected(reference)


def test_a_view_of_a_bound_state_keeps_no_optimizer(momentum):
    optimizer = updraft.ArrayOptimizer(momentum, [ones(COUNT)])
    velocity = ones(COUNT)
    optimizer.bind_state(0, "velocity", velocity)
    view = optimizer.state(0)["velocity"]
    reference = weakref.ref(optimizer.groups[0])
    del optimizer
    assert is_collected(reference)
    velocity[:] = 3
    assert view.tolist() == [3] * COUNT


def test_a_state_of_a_group_that_is_bound_through_another_parameter():
    optimizer = updraft.ArrayOptimizer(updraft.compile(GROUP_STATE), [ones(2), ones(3)])
    arrays = [numpy.array(number, dtype="float64") for number in (5, 6, 7)]
    references = [weakref.ref(each) for each in arrays]
    views = []
    for param in (0, 1, 0):
        optimizer.bind_state(param, "total", arrays.pop(0))
        views.append(optimizer.state(1 - param)["total"])
    assert [view.item() for view in views] == [5, 6, 7]
    assert not any(map(is_collected, references))
    del views[:2]
    assert [is_collected(reference) for reference in references] == [True, True, False]


def test_a_view_of_the_optimizers_own_memory_outlives_binding(momentum):
    optimizer = updraft.ArrayOptimizer(momentum, [ones(COUNT)])
    optimizer.step([ones(COUNT)])
    view = optimizer.state(0)["velocity"]
    optimizer.bind_state(0, "velocity", numpy.zeros(COUNT, "float32"))
    del optimizer
    gc.collect()
    assert view.tolist() == [1] * COUNT


@pytest.mark.parametrize("kind", ["torch", "dlpack"])
def test_a_view_of_a_bound_state_that_is_no_array_of_numpy(momentum, kind):
    state = torch.full((COUNT,), 7.0) if kind == "torch" else Exporter()
    memory = state.detach().numpy() if kind == "torch" else state.array
    memory[:] = 7
    kept = weakref.ref(memory.base if kind == "torch" else memory)
    optimizer = updraft.ArrayOptimizer(momentum, [ones(COUNT)])
    optimizer.bind_state(0, "velocity", state)
    view = optimizer.state(0)["velocity"]
    optimizer.bind_state(0, "velocity", ones(COUNT))
    if kind == "torch":
        state.data = torch.zeros(COUNT)
    del memory, state
    gc.collect()
    assert view.tolist() == [7] * COUNT
    if kind == "dlpack":
        assert not is_collected(kept)
        del view
        assert is_collected(kept)


def test_a_bound_state_that_is_exported(momentum, monkeypatch):
    """Without ml_dtypes, a bf16 state is an object with `__dlpack__`."""
    monkeypatch.setattr("updraft.dtypes.numpy_bfloat16", lambda: None)
    rule = updraft.load("Lion").compile(storage={"param": "bf16", "grad": "bf16"})
    optimizer = updraft.ArrayOptimizer(rule, [torch.ones(COUNT, dtype=torch.bfloat16)])
    optimizer.bind_state(0, "exp_avg", torch.full((COUNT,), 7.0, dtype=torch.bfloat16))
    exporter = optimizer.state(0)["exp_avg"]
    tensor = torch.from_dlpack(exporter)
    optimizer.bind_state(0, "exp_avg", torch.zeros(COUNT, dtype=torch.bfloat16))
    gc.collect()
    filled = [torch.zeros(COUNT, dtype=torch.bfloat16) for _ in range(100)]
    assert tensor.tolist() == torch.from_dlpack(exporter).tolist() == [7] * COUNT
    assert len(filled) == 100


def test_states_are_bound_while_another_thread_looks_at_them(momentum):
    size = 1 << 20  # the system gets memory of this size back when it is freed
    optimizer = updraft.ArrayOptimizer(momentum, [ones(size)])
    optimizer.bind_state(0, "velocity", ones(size))
    failures = []

    def look():
        for _ in range(300):
            view = optimizer.state(0)["velocity"]
            time.sleep(0)
            if view[0] != 1 or view[-1] != 1:
                failures.append(view)

    threads = [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        optimizer.bind_state(0, "velocity", ones(size))
    assert not failures


@pytest.mark.parametrize("kind", [Array, Exporter])
@pytest.mark.parametrize("place", ["parameter", "state"])
def test_an_array_that_leads_back_to_its_optimizer_is_collected(momentum, kind, place):
    param, state = (
        ones(COUNT).view(Array) if kind is Array else Exporter(),
        ones(COUNT).view(Array) if kind is Array else Exporter(),
    )
    optimizer = updraft.ArrayOptimizer(momentum, [param])
    optimizer.bind_state(0, "velocity", state)
    optimizer.step([ones(COUNT)])
    holder = param if place == "parameter" else state
    holder.optimizer = optimizer
    references = [weakref.ref(param), weakref.ref(optimizer)]
    if kind is Array or place == "parameter":
        references.append(weakref.ref(state))
    del param, state, holder, optimizer
    assert all(map(is_collected, references))


def test_a_view_in_a_cycle_with_its_optimizer(momentum):
    """The remaining object still refers to valid memory."""
    param = ones(COUNT).view(Array)
    param.optimizer = updraft.ArrayOptimizer(momentum, [param])
    param.optimizer.step([ones(COUNT)])
    view = param.optimizer.state(0)["velocity"]
    reference = weakref.ref(param)
    del param
    assert not is_collected(reference)
    assert view.tolist() == [1] * COUNT
    assert reference().optimizer.step_count(0) == 1


def test_an_optimizer_that_a_finalizer_reaches(momentum):
    class Finalized(numpy.ndarray):
        def __del__(self):
            if hasattr(self, "optimizer"):
                self.optimizer.step([ones(COUNT)])
                seen.append(self.optimizer.step_count(0))

    seen = []
    param = ones(COUNT).view(Finalized)
    param.optimizer = updraft.ArrayOptimizer(momentum, [param])
    del param
    gc.collect()
    assert seen == [1]


RESIZED = (
    "the memory of parameter 0 is no longer that which the optimizer was given: the array, or the "
    "storage of the tensor, has been resized or replaced; make a new optimizer"
)


def refusal(function, *arguments):
    with pytest.raises(updraft.InvalidArgumentError) as caught:
        function(*arguments)
    return str(caught.value)


@pytest.mark.parametrize("size", [0, 3])
def test_an_array_that_was_resized(momentum, size):
    weights = ones(5000)
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    optimizer.step([ones(5000)])
    weights.resize(size, refcheck=False)
    assert refusal(optimizer.step, [ones(5000)]) == RESIZED
    assert optimizer.step_count(0) == 1
    optimizer.step([None])


def test_a_view_of_an_array_that_was_resized(momentum):
    whole = ones(5000)
    optimizer = updraft.ArrayOptimizer(momentum, [whole[1:][1:4001]])
    optimizer.step([ones(4000)])
    whole.resize(10, refcheck=False)
    assert refusal(optimizer.step, [ones(4000)]) == RESIZED


@pytest.mark.parametrize("size", [0, 12, 40_000])
def test_a_storage_that_was_resized(momentum, size):
    weights = torch.ones(5000)
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    optimizer.step([torch.ones(5000)])
    weights.untyped_storage().resize_(size)
    assert refusal(optimizer.step, [torch.ones(5000)]) == RESIZED
    assert optimizer.step_count(0) == 1


def test_a_tensor_that_was_shared(momentum):
    weights = torch.ones(5000)
    optimizer = updraft.ArrayOptimizer(momentum, [weights])
    weights.share_memory_()
    assert refusal(optimizer.step, [torch.ones(5000)]) == RESIZED


def test_other_changes_of_an_array_do_not_affect_its_memory(momentum):
    weights, tensor = ones(6), torch.ones(6)
    optimizer = updraft.ArrayOptimizer(momentum, [weights, tensor], lr=1)
    weights.shape = (2, 3)
    tensor.resize_(3)
    optimizer.step([ones(6), torch.ones(6)])
    assert not weights.any() and not tensor.any()
    # The optimizer keeps the old memory.
    tensor.data = torch.ones(6)
    optimizer.step([ones(6), torch.ones(6)])
    assert tensor.tolist() == [1] * 6


@pytest.mark.parametrize("action", ["step", "state", "save", "load", "bind"])
def test_a_bound_state_that_was_resized(momentum, action, tmp_path):
    optimizer = updraft.ArrayOptimizer(momentum, [ones(5000), ones(5000)])
    optimizer.save(tmp_path / "before.safetensors")
    velocity = ones(5000)
    optimizer.bind_state(1, "velocity", velocity)
    velocity.resize(3, refcheck=False)
    actions = {
        "step": lambda: optimizer.step([None, ones(5000)]),
        "state": lambda: optimizer.state(1),
        "save": lambda: optimizer.save(tmp_path / "after.safetensors"),
        "load": lambda: optimizer.load(tmp_path / "before.safetensors"),
        "bind": lambda: optimizer.bind_state(1, "velocity", ones(5000)),
    }
    if action == "bind":
        actions[action]()
        optimizer.step([None, ones(5000)])
        return
    assert refusal(actions[action]) == RESIZED.replace(
        "parameter 0", "state `velocity` of parameter 1"
    )


def test_a_gradient_without_its_memory(momentum):
    optimizer = updraft.ArrayOptimizer(momentum, [ones(5000)])
    for size in (0, 12):
        grad = torch.ones(5000)
        grad.untyped_storage().resize_(size)
        assert refusal(optimizer.step, [grad]) == (
            f"gradient 0 reaches to byte 20000 of a storage of {size} bytes; give a tensor that "
            "has its memory"
        )
        assert refusal(updraft.ArrayOptimizer, momentum, [grad]).startswith(
            "parameter 0 reaches to"
        )
    assert optimizer.step_count(0) == 0


def test_indices_that_another_thread_changes():
    """The checked and the used indices are the same."""
    rows = 100_000
    table = numpy.zeros((rows, 4), dtype="float32")
    rule = updraft.compile("rule S(lr = 1) { update(param, grad) { next param = param - grad } }")
    optimizer = updraft.ArrayOptimizer(rule, [table])
    indices = numpy.arange(rows)
    taken, values = 0, ones(rows, 4)
    with changing(indices, 10**13):
        for _ in range(100):
            try:
                optimizer.step([updraft.Rows(indices, values)])
                taken += 1
            except updraft.InvalidArgumentError as error:
                assert "is 10000000000000, but its rows are from 0 to" in str(error)
    assert (table == -taken).all() and optimizer.step_count(0) == taken


def test_the_buffer_protocol(momentum):
    memory = array.array("f", [1] * COUNT)
    optimizer = updraft.ArrayOptimizer(momentum, [memory], lr=1)
    with pytest.raises(BufferError):
        memory.append(1)
    optimizer.step([ones(COUNT)])
    assert not any(memory)
