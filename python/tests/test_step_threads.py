"""Threads of Python beside a step of `updraft.optim`."""

import threading
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
    """All of them find that there is nothing compiled yet, and no state."""
    with ThreadPoolExecutor(4) as threads:
        for _ in range(20):
            param = torch.nn.Parameter(torch.zeros(8))
            param.grad = torch.ones(8)
            optimizer = optim.SGD([param], lr=0.5, momentum=1.0)
            for step in [threads.submit(optimizer.step) for _ in range(4)]:
                step.result()
            assert (param == -0.5 * (1 + 2 + 3 + 4)).all()
