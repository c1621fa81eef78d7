"""Workers that are killed while clients step, and started again with their stores."""

import concurrent.futures
import contextlib
import multiprocessing
import os
import random
import subprocess
import threading
import time

import numpy as np
import pytest

import updraft
from updraft.distributed.grpc import Client, ContextLostError, Rows, WorkersFailedError

from .conftest import WORKER, running, statistics, wait_until

# More in `tools/test --long=grpc`.
KILLS = int(os.environ.get("UPDRAFT_WORKER_KILLS", "20"))
LARGE_STORE_MIB = int(os.environ.get("UPDRAFT_LARGE_STORE_MIB", "64"))
CLIENTS = 3

FORKS = multiprocessing.get_context("forkserver")  # a fork of this process could not use gRPC
FORKS.set_forkserver_preload([__name__])


def step_until_killed(address, name, sender):
    """Sends the number of steps before its own, and then something after each of its own.

    Each step adds 1 to all elements of a parameter.
    """
    with Client([address]) as client:
        optimizer = client.optimizer(name, "SGD", [{"params": [name], "lr": 1.0}])
        [before] = set(client.get([name])[name])
        sender.send(int(before))
        while True:
            with optimizer.context() as context:
                context.push({name: -np.ones(1000, np.float32)})
                optimizer.step(context)
            sender.send(None)


def stepped(optimizer, gradient, parameter="w"):
    """Steps once, whatever happens to the worker."""
    while True:
        try:
            context = optimizer.context()
            break
        except WorkersFailedError:
            continue
    while True:
        try:
            context.push({parameter: gradient})
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
        # Makes the store larger: 20 MB in `tools/test --long=grpc`.
        rest = np.ones(5_000_000 if KILLS >= 1000 else 5_000, np.float32)
        client.put({"w": np.zeros(count, np.float32), "rest": rest})
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


def test_killed_clients_have_stepped_as_often_as_they_were_told(tmp_path):
    """Or once more: the last step may have been applied when no one received the answer."""

    def kill_one_after_another(address, client, number):
        chance = random.Random(number)
        name, told = f"w{number}", 0
        for _ in range(KILLS // CLIENTS + 1):
            receiver, sender = FORKS.Pipe(duplex=False)
            process = FORKS.Process(target=step_until_killed, args=(address, name, sender))
            process.start()
            sender.close()
            before = receiver.recv()
            assert before - told in (0, 1)
            receiver.recv()
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
            told = before + 1
            with contextlib.suppress(EOFError):
                while True:
                    receiver.recv()
                    told += 1
            process.join()
        [after] = set(client.get([name])[name])
        assert after - told in (0, 1)

    with (
        running(f"--store={tmp_path / 'store'}") as (address, _),
        Client([address]) as client,
        concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool,
    ):
        client.put({f"w{number}": np.zeros(1000, np.float32) for number in range(CLIENTS)})
        answers = [
            pool.submit(kill_one_after_another, address, client, number)
            for number in range(CLIENTS)
        ]
        for answer in answers:
            answer.result()


def test_a_large_store_serves_soon_again(killed):
    """Three times, with the store in the page cache. 1 GiB in `tools/test --long=grpc`.

    The journal has a gradient of a quarter of the parameters, then of two, then of three.
    """
    count = LARGE_STORE_MIB << 18
    killed.options = [f"--store={killed.store}", "--memory=8"]
    killed.kill()
    with Client([killed.address]) as client:
        part, rest = np.zeros(count // 4, np.float32), np.ones(count - count // 4, np.float32)
        client.put({"part": part, "rest": rest})
        optimizer = client.optimizer("o", "SGD", [{"params": ["part"], "lr": 1.0}])
        client.take_snapshots()
        for kill in range(1, 4):
            stepped(optimizer, part - 1, "part")
            assert statistics(client).journal_bytes >= kill * part.nbytes
            started = time.monotonic()
            killed.kill()
            assert statistics(client).journal_bytes >= kill * part.nbytes
            seconds = time.monotonic() - started
            print(f"serving again after {seconds:.2f} s")
            assert seconds <= 5
            assert (client.get(["part"])["part"] == kill).all()
        assert (client.get(["rest"])["rest"] == 1).all()


def test_a_journal_of_an_earlier_process_is_shortened(killed):
    killed.options = [f"--store={killed.store}"]
    killed.kill()
    with Client([killed.address]) as client:
        client.put({"w": np.ones(1 << 19, np.float32)})
        assert statistics(client).journal_bytes > 1 << 20
        killed.options += ["--journal=1", "--snapshot-interval=3600"]
        killed.kill()
        wait_until(lambda: statistics(client).journal_bytes < 1 << 20)


def test_a_worker_that_was_away_is_soon_found(killed):
    """By itself, gRPC would wait for about four more seconds."""
    with Client([killed.address]) as client:
        client.put({"w": np.zeros(2, np.float32)})
        killed.close()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answer = pool.submit(client.get, ["w"])
            time.sleep(11.5)
            killed.start()
            started = time.monotonic()
            assert list(answer.result()["w"]) == [0, 0]
        # At most 1.2 s between two attempts of gRPC, and 2 s between those of the client.
        assert time.monotonic() - started < 5


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


def test_a_full_worker_refuses_a_step_of_all(tmp_path):
    """Its reason comes through the coordinator, and the client doesn't repeat the step."""
    count = 100_000
    with (
        running(f"--store={tmp_path / 'one'}") as (one, _),
        running(f"--store={tmp_path / 'other'}", "--memory=0.001") as (other, _),
        Client([one, other]) as client,
    ):
        client.put({"v": np.zeros(count, np.float32), "w": np.zeros(count, np.float32)})
        optimizer = client.optimizer("o", "SGD", [{"params": ["w", "v"], "lr": 1.0}])
        ones = np.ones(count, np.float32)
        with optimizer.context() as context:
            context.push({"v": ones, "w": ones})
            context.push({name: Rows([0], ones[:1]) for name in ("v", "w")})
            started = time.monotonic()
            with pytest.raises(WorkersFailedError) as caught:
                optimizer.step(context, all_or_none=True)
            assert time.monotonic() - started < 10
        [failure] = caught.value.failures
        assert failure.worker == one
        assert failure.code == "RESOURCE_EXHAUSTED"
        assert failure.message.startswith(
            f"no worker has applied the step, because worker `{other}` has not prepared it: "
        )
        assert [set(value) for value in client.get(["v", "w"]).values()] == [{0}, {0}]


@pytest.mark.parametrize(("durability", "after"), [("snapshot", 0.5), ("step", 0.25)])
def test_hyperparameters_that_a_worker_lost_are_sent_again(killed, durability, after):
    """A worker that loses none keeps those that another client has set later."""
    killed.options = [f"--store={killed.store}", f"--durability={durability}"]
    killed.kill()
    with Client([killed.address]) as one, Client([killed.address]) as other:
        one.put({"w": np.zeros(2, np.float32)})
        groups = [{"params": ["w"], "lr": 1.0}]
        mine, theirs = (each.optimizer("o", "SGD", groups) for each in (one, other))
        one.take_snapshots()
        stepped(mine, np.zeros(2, np.float32))
        mine.param_groups[0]["lr"] = 0.5
        stepped(mine, np.zeros(2, np.float32))
        theirs.param_groups[0]["lr"] = 0.25
        stepped(theirs, np.zeros(2, np.float32))
        killed.kill()
        stepped(mine, np.ones(2, np.float32))
        assert list(one.get(["w"])["w"]) == [-after] * 2


def test_an_optimizer_that_did_not_open_the_context_sends_hyperparameters_again(killed):
    killed.options = [f"--store={killed.store}", "--durability=snapshot"]
    killed.kill()
    with Client([killed.address]) as client:
        client.put({"w": np.zeros(2, np.float32)})
        groups = [{"params": ["w"], "lr": 1.0}]
        opener = client.optimizer("o", "SGD", groups)
        client.take_snapshots()
        stepping = client.optimizer("o", "SGD", groups)
        stepping.param_groups[0]["lr"] = 0.5
        for gradient in (np.zeros(2, np.float32), np.ones(2, np.float32)):
            with opener.context() as context:
                context.push({"w": gradient})
                assert stepping.step(context) == 1
            if not gradient.any():
                killed.kill()
        assert list(client.get(["w"])["w"]) == [-0.5, -0.5]
