"""Python threads during a step of `updraft.optim`."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from updraft import optim


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_gradients_that_another_thread_replaces(dtype):
    params = [torch.nn.Parameter(torch.zeros(8, dtype=dtype)) for _ in range(200)]

    def set_gradients():
        for param in params:
            param.grad = torch.ones(8, dtype=dtype)

    set_gradients()
    optimizer = optim.SGD(params, lr=0.5)
    done = threading.Event()

    def replace():
        while not done.is_set():
            set_gradients()

    others = [threading.Thread(target=replace) for _ in range(2)]
    for thread in others:
        thread.start()
    steps = 4000
    try:
        for _ in range(steps):
            optimizer.step()
    finally:
        done.set()
        for thread in others:
            thread.join()
    assert all((param == -0.5 * steps).all() for param in params)


def test_steps_of_several_threads():
    params = [torch.nn.Parameter(torch.zeros(8)) for _ in range(50)]
    for param in params:
        param.grad = torch.ones(8)
    optimizer = optim.SGD(params, lr=0.5)
    optimizer.step()
    threads = [
        threading.Thread(target=lambda: [optimizer.step() for _ in range(500)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((param == -0.5 * 2001).all() for param in params)


def test_first_steps_of_several_threads():
    """All threads start before the rule is compiled and before the states exist."""
    with ThreadPoolExecutor(4) as threads:
        for _ in range(20):
            param = torch.nn.Parameter(torch.zeros(8))
            param.grad = torch.ones(8)
            optimizer = optim.SGD([param], lr=0.5, momentum=1.0)
            for step in [threads.submit(optimizer.step) for _ in range(4)]:
                step.result()
            assert (param == -0.5 * (1 + 2 + 3 + 4)).all()


def in_threads(work, threads=4):
    """Calls a function in several threads at the same time, and raises their exceptions."""
    start = threading.Barrier(threads)
    errors = []

    def run():
        start.wait()
        try:
            work()
        except Exception as error:
            errors.append(error)

    running = [threading.Thread(target=run) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if errors:
        raise errors[0]


def with_gaps():
    return torch.zeros(8, 8)[:, ::2]


def clipped(params, lr):
    return optim.with_clipping(optim.SGD(params, lr=lr), 1e9)


@pytest.mark.parametrize("make", [optim.SGD, clipped])
@pytest.mark.parametrize("tensor", [lambda: torch.zeros(8, 4), with_gaps], ids=["whole", "gaps"])
def test_many_steps_of_several_threads(make, tensor):
    for _ in range(5):
        params = [torch.nn.Parameter(tensor()) for _ in range(5)]
        for param in params:
            param.grad = torch.ones(8, 4)
        optimizer = make(params, lr=0.5)
        in_threads(lambda optimizer=optimizer: [optimizer.step() for _ in range(20)])
        assert all((param == -0.5 * 80).all() for param in params)


def test_steps_of_several_threads_by_functions_of_torch():
    params, alone = ([torch.nn.Parameter(torch.zeros(8, 4)) for _ in range(3)] for _ in range(2))
    generator = torch.Generator().manual_seed(0)
    for param, other in zip(params, alone, strict=True):
        param.grad = other.grad = torch.randn(8, 4, generator=generator)
    optimizer, reference = optim.Muon(params), optim.Muon(alone)
    in_threads(lambda: [optimizer.step() for _ in range(20)])
    for _ in range(80):
        reference.step()
    assert all(map(torch.equal, params, alone))


def test_states_that_another_thread_assigns_during_a_step():
    param = torch.nn.Parameter(torch.zeros(3))
    param.grad = torch.ones(3)
    optimizer = optim.SGD([param], lr=1.0, momentum=1.0)
    optimizer.step()
    assigned = {param: {"momentum_buffer": torch.full((3,), 5.0)}}
    thread = threading.Thread(target=lambda: setattr(optimizer, "state", assigned))

    class Seed:
        """Is read while a step is compiled, after the states are read."""

        def __index__(self):
            if thread.ident is None:
                thread.start()
                # It waits for the step to end. Without waiting, it would finish within this time.
                thread.join(0.2)
            return 0

    optimizer.param_groups[0]["seed"] = Seed()
    optimizer.step()
    thread.join()
    assert param.tolist() == [-3.0] * 3
    optimizer.step()
    assert param.tolist() == [-9.0] * 3
    assert assigned[param]["momentum_buffer"].tolist() == [6.0] * 3


def test_hyperparameter_that_another_thread_corrects_during_a_step():
    param = torch.nn.Parameter(torch.zeros(3))
    param.grad = torch.ones(3)
    optimizer = optim.SGD([param], lr=1.0)
    optimizer.step()

    class Refused:
        """Refuses conversion to a number, and replaces itself by a number in the group."""

        def __float__(self):
            optimizer.param_groups[0]["lr"] = 0.5
            raise TypeError("not a number")

    optimizer.param_groups[0]["lr"] = Refused()
    optimizer.step()
    assert param.tolist() == [-1.5] * 3


def refused_rate(optimizer, params):
    group = optimizer.param_groups[0]
    for lr in ("fast", 1e-3):
        group["lr"] = lr
        time.sleep(0.0005)


def other_memory(optimizer, params):
    params[0].data = params[0].data.clone()


def loaded(optimizer, params):
    optimizer.load_state_dict(optimizer.state_dict())


def another_group(optimizer, params):
    added = torch.nn.Parameter(torch.ones(3))
    added.grad = torch.ones(3)
    optimizer.add_param_group({"params": [added]})
    time.sleep(0.05)


def another_rule(optimizer, params):
    group = optimizer.param_groups[0]
    group["maximize"] = not group["maximize"]
    len(optimizer.state)


def released(optimizer, params):
    optimizer.release()


@pytest.mark.parametrize(
    "change", [refused_rate, other_memory, loaded, another_group, another_rule, released]
)
def test_changes_while_several_threads_step(change):
    """Each step without an error counts, for all parameters."""
    params = [torch.nn.Parameter(torch.ones(8, 4)) for _ in range(20)]
    for param in params:
        param.grad = torch.ones(8, 4)
    optimizer = optim.Adam(params)
    optimizer.step()
    counts = [1]
    done = threading.Event()

    def keep_changing():
        while not done.is_set():
            change(optimizer, params)

    def steps():
        end = time.monotonic() + 1
        while time.monotonic() < end:
            try:
                optimizer.step()
            except TypeError as error:
                if "hyperparameter `lr` is <class 'str'>" not in str(error):
                    raise
            else:
                counts.append(1)

    changing = threading.Thread(target=keep_changing)
    changing.start()
    try:
        in_threads(steps, threads=2)
    finally:
        done.set()
        changing.join()
    assert {state["step"].item() for state in map(optimizer.state.get, params)} == {len(counts)}
