"""Workers that are killed while clients step, and started again with their stores."""

import os
import random
import subprocess
import threading
import time

import numpy as np
import pytest

import updraft
from updraft.distributed.grpc import Client, ContextLostError, WorkersFailedError

from .conftest import WORKER, running

# More in `tools/test --long=grpc`.
KILLS = int(os.environ.get("UPDRAFT_WORKER_KILLS", "20"))
CLIENTS = 3


class Killed:
    """A worker that is killed and started again at the same address, with the same store."""

    def __init__(self, store):
        self.store = store
        self.options = [f"--store={store}", "--journal=1", "--snapshot-interval=1"]
        self.running = running(*self.options)
        self.address, self.process = self.running.__enter__()

    def kill(self):
        self.close()
        self.running = running(*self.options, address=self.address)
        _, self.process = self.running.__enter__()

    def close(self):
        if self.running:
            self.running.__exit__(None, None, None)
        self.running = None


@pytest.fixture
def killed(tmp_path):
    worker = Killed(tmp_path / "store")
    yield worker
    worker.close()


def stepped(optimizer, gradient):
    """Steps once, whatever happens to the worker."""
    while True:
        try:
            context = optimizer.context()
            break
        except WorkersFailedError:
            continue
    while True:
        try:
            context.push({"w": gradient})
            optimizer.step(context)
            return
        except ContextLostError:
            continue


def test_no_step_is_lost_or_doubled(killed):
    """Each client adds 1 to the elements of a parameter, once for each of its steps."""
    count = 5_000
    is_over = threading.Event()
    taken, errors = [0] * CLIENTS, []

    def train(number):
        try:
            with Client([killed.address], name=f"client-{number}") as client:
                groups = [{"params": ["w"], "lr": 1.0}]
                optimizer = client.optimizer(f"o{number}", "SGD", groups)
                while not is_over.is_set():
                    stepped(optimizer, -np.ones(count, np.float32))
                    taken[number] += 1
        except Exception as error:
            errors.append(error)
            raise

    with Client([killed.address]) as client:
        client.put({"w": np.zeros(count, np.float32)})
        threads = [threading.Thread(target=train, args=[number]) for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        chance = random.Random(0)
        for _ in range(KILLS):
            before = sum(taken)
            while sum(taken) == before and not errors:
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.1))
            killed.kill()
        is_over.set()
        for thread in threads:
            thread.join()
        assert not errors
        w = client.get(["w"])["w"]
    killed.close()
    verified = subprocess.run(
        [WORKER, "verify", killed.store], capture_output=True, text=True, check=True
    )
    assert "the store is whole" in verified.stdout
    assert sum(taken) >= KILLS
    np.testing.assert_array_equal(w, np.full(count, sum(taken), np.float32))


def test_states_have_the_bits_of_this_process(killed):
    value = np.linspace(-1, 1, 1000, dtype=np.float32)
    local = [value.copy()]
    here = updraft.ArrayOptimizer(updraft.load("AdamW").compile(), local, lr=0.01)
    noise = np.random.default_rng(0)
    with Client([killed.address]) as client:
        client.put({"w": value})
        optimizer = client.optimizer("o", "AdamW", [{"params": ["w"], "lr": 0.01}])
        timers = []
        for step in range(30):
            gradient = noise.standard_normal(1000).astype(np.float32)
            here.step([gradient])
            if step % 10 == 5:
                timers.append(threading.Timer(0.01, killed.kill))
                timers[-1].start()
            stepped(optimizer, gradient)
        for timer in timers:
            timer.join()
        np.testing.assert_array_equal(client.get(["w"])["w"], local[0])


def test_two_workers_step_or_none(tmp_path):
    with (
        running(f"--store={tmp_path / 'one'}") as (one, _),
        running(f"--store={tmp_path / 'other'}") as (other, _),
        Client([one, other]) as client,
    ):
        client.put({"v": np.zeros(2, np.float32), "w": np.zeros(2, np.float32)})
        optimizer = client.optimizer("o", "SGD", [{"params": ["v", "w"], "lr": 1.0}])
        gradient = np.ones(2, np.float32)
        for _ in range(3):
            with optimizer.context() as context:
                context.push({"v": gradient, "w": gradient})
                assert optimizer.step(context, all_or_none=True) == 2
        assert {name: list(value) for name, value in client.get(["v", "w"]).items()} == {
            "v": [-3, -3],
            "w": [-3, -3],
        }
