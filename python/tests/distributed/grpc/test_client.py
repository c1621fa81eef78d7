"""Parameters and steps on parameter servers, beside steps in this process."""

import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest

import updraft
from updraft.distributed.grpc import Client, Rows, WorkersFailedError

from .conftest import running, statistics


def test_parameters_return_as_they_were_put(addresses):
    parameters = {
        "f32": np.arange(600_000, dtype=np.float32).reshape(3, -1),
        "f64": np.array(2.5),
        "bf16": np.ones(3, ml_dtypes.bfloat16),
        "f16": np.zeros((0, 3), np.float16),
        "transposed": np.arange(6.0).reshape(2, 3).T,
    }
    with Client(addresses) as client, Client(addresses) as other:
        client.put(parameters)
        returned = other.get(parameters)
    for name, value in parameters.items():
        assert returned[name].dtype == value.dtype
        np.testing.assert_array_equal(returned[name], value, strict=True)


def test_tensors_of_torch_are_put(addresses):
    import torch

    with Client(addresses) as client:
        client.put({"w": torch.nn.Parameter(torch.ones(3))})
        assert client.get(["w"])["w"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("rule", ["SGD", "AdamW", "Adagrad"])
def test_steps_have_the_bits_of_this_process(addresses, rule):
    random = np.random.default_rng(0)
    values = {
        name: random.standard_normal(7 + number).astype(np.float32)
        for number, name in enumerate("abc")
    }
    local = {name: value.copy() for name, value in values.items()}
    compiled = updraft.load(rule).compile()
    here = updraft.ArrayOptimizer(compiled, list(local.values()), lr=0.01)
    with Client(addresses) as client:
        client.put(values)
        optimizer = client.optimizer("o", rule, [{"params": list(values), "lr": 0.01}])
        for _ in range(5):
            gradients = {
                name: random.standard_normal(value.shape).astype(np.float32)
                for name, value in values.items()
            }
            here.step(list(gradients.values()))
            with optimizer.context() as context:
                context.push(gradients)
                assert optimizer.step(context) == 3
        for name, value in client.get(values).items():
            np.testing.assert_array_equal(value, local[name], strict=True)


def test_a_schedule_changes_hyperparameters(addresses):
    with Client(addresses) as client:
        client.put({"a": np.zeros(2, np.float32), "b": np.zeros(1, np.float32)})
        groups = [{"params": ["a"], "lr": 1.0}, {"params": ["b"], "lr": 1.0}]
        optimizer = client.optimizer("o", "SGD", groups)
        gradients = {"a": np.ones(2, np.float32), "b": np.ones(1, np.float32)}
        for _ in range(3):
            with optimizer.context() as context:
                context.push(gradients)
                optimizer.step(context)
            optimizer.param_groups[1]["lr"] /= 2
        assert client.get(["a"])["a"].tolist() == [-3, -3]
        assert client.get(["b"])["b"].tolist() == [-1.75]


def test_rows_may_repeat(addresses):
    with Client(addresses) as client:
        client.put({"table": np.zeros((3, 2), np.float32)})
        optimizer = client.optimizer("o", "SGD", [{"params": ["table"], "lr": 1.0}])
        with optimizer.context() as context:
            context.push({"table": Rows([2, 0, 2], np.ones((3, 2), np.float32))})
            optimizer.step(context)
        assert client.get(["table"])["table"].tolist() == [[-1, -1], [0, 0], [-2, -2]]


def test_an_optimizer_that_is_found_shows_its_hyperparameters(addresses):
    groups = [{"params": ["v"], "lr": 1.0}, {"params": ["w"], "lr": 2.0}]
    with Client(addresses) as client, Client(addresses) as other:
        client.put({"v": np.zeros(2, np.float32), "w": np.zeros(2, np.float32)})
        optimizer = client.optimizer("o", "SGD", groups)
        assert [group["lr"] for group in optimizer.param_groups] == [1.0, 2.0]
        optimizer.param_groups[1]["lr"] = 0.5
        with optimizer.context() as context:
            context.push({"w": np.ones(2, np.float32)})
            optimizer.step(context)
        found = other.optimizer("o", "SGD", groups)
        assert [group["lr"] for group in found.param_groups] == [1.0, 0.5]
        with found.context() as context:
            context.push({"w": np.ones(2, np.float32)})
            found.step(context)
        assert list(client.get(["w"])["w"]) == [-1, -1]


def test_clients_change_different_hyperparameters_of_a_group(addresses):
    groups = [{"params": ["w"], "lr": 1.0}]
    with Client(addresses) as client, Client(addresses) as other:
        client.put({"w": np.zeros(2, np.float32)})
        optimizers = [each.optimizer("o", "SGD", groups) for each in (client, other)]
        optimizers[0].param_groups[0]["lr"] = 0.5
        optimizers[1].param_groups[0]["weight_decay"] = 1.0
        for optimizer in optimizers:
            with optimizer.context() as context:
                context.push({"w": np.ones(2, np.float32)})
                optimizer.step(context)
        # First 0 - 0.5, without weight decay, and then -0.5 - 0.5 (1 - 0.5).
        assert list(client.get(["w"])["w"]) == [-0.75, -0.75]


def test_a_client_of_the_same_name_is_another_one(addresses):
    for _ in range(2):
        with Client(addresses, name="ours") as client:
            assert client.name.startswith("ours/")
            client.put({"w": np.zeros(2, np.float32)})
            optimizer = client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])
            with optimizer.context() as context:
                context.push({"w": np.ones(2, np.float32)})
                assert optimizer.step(context) == 1
            assert list(client.get(["w"])["w"]) == [-1, -1]


def test_workers_forget_answers_that_clients_have(addresses):
    with Client(addresses[:1]) as client:
        client.put({"w": np.zeros(2, np.float32)})
        optimizer = client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])
        for _ in range(20):
            with optimizer.context() as context:
                context.push({"w": np.ones(2, np.float32)})
                optimizer.step(context)
        answer = statistics(client)
        assert answer.remembered_answers == 1


def test_threads_lose_no_step(addresses):
    def train(name):
        with Client(addresses, name=name) as client:
            optimizer = client.optimizer(name, "SGD", [{"params": ["w"], "lr": 1.0}])
            for _ in range(50):
                with optimizer.context() as context:
                    context.push({"w": -np.ones(3, np.float32)})
                    optimizer.step(context)

    with Client(addresses) as client:
        client.put({"w": np.zeros(3, np.float32)})
        threads = [threading.Thread(target=train, args=(f"trainer{i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.get(["w"])["w"].tolist() == [200, 200, 200]


def test_errors_name_the_worker(addresses):
    with Client(addresses) as client:
        with pytest.raises(updraft.InvalidArgumentError, match="no worker has a parameter `w`"):
            client.get(["w"])
        client.put({"w": np.zeros(3, np.float32)})
        with pytest.raises(WorkersFailedError) as refused:
            client.put({"w": np.zeros(4, np.float32)})
        assert str(refused.value) == (
            f"worker `{refused.value.failures[0].worker}`: parameter `w` is f32 [3], not f32 [4]; "
            "give the other another name"
        )
        assert refused.value.failures[0].code == "ALREADY_EXISTS"
        with pytest.raises(updraft.InvalidArgumentError, match="no hyperparameter `beta`; it has"):
            client.optimizer("o", "SGD", [{"params": ["w"], "beta": 1}])
        with pytest.raises(updraft.InvalidArgumentError, match="tensor `v` is int64; workers take"):
            client.put({"v": np.arange(3)})
    with pytest.raises(updraft.InvalidArgumentError, match="needs the address of a worker"):
        Client([])


def test_waits_for_a_worker_that_starts_later(tmp_path):
    address = f"unix:{tmp_path}/socket"
    with Client([address], timeout=30) as client:
        putting = threading.Thread(target=client.put, args=({"w": np.ones(3, np.float32)},))
        putting.start()
        time.sleep(0.3)
        with running(address=address):
            putting.join()
            assert client.get(["w"])["w"].tolist() == [1, 1, 1]


def test_gives_up_when_the_time_is_over(tmp_path):
    address = f"unix:{tmp_path}/socket"
    with Client([address], timeout=0.3) as client, pytest.raises(WorkersFailedError) as refused:
        client.get(["w"])
    assert refused.value.failures[0].worker == address


# `torch` can't be imported.
WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
import numpy as np
from updraft.distributed.grpc import Client

with Client(sys.argv[1:]) as client:
    client.put({"v": np.ones(2, np.float32), "w": np.ones(2, np.float32)})
    optimizer = client.optimizer("o", "SGD", [{"params": ["v", "w"], "lr": 0.5}])
    with optimizer.context() as context:
        context.push({"w": np.ones(2, np.float32)})
        optimizer.step(context)
    print(*client.get(["v", "w"]).values())
"""


def test_steps_need_no_torch(addresses):
    command = [sys.executable, "-c", WITHOUT_TORCH, *addresses]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (found.stdout, found.stderr) == ("[1. 1.] [0.5 0.5]\n", "")


def test_an_error_names_every_worker_that_fails(addresses):
    with Client(addresses) as client:
        client.put({"v": np.ones(2, np.float32), "w": np.ones(2, np.float32)})
        with pytest.raises(WorkersFailedError) as refused:
            client.put({"v": np.ones(3, np.float32), "w": np.ones(3, np.float32)})
    assert {each.worker for each in refused.value.failures} == {*addresses}
    for address in addresses:
        assert f"worker `{address}`: " in str(refused.value)


def test_workers_are_called_at_the_same_time(addresses):
    both = threading.Barrier(2, timeout=10)
    with Client(addresses) as client:
        client._workers.call_each([0, 1], lambda stub, worker, timeout: both.wait())


@pytest.mark.parametrize("all_or_none", [False, True])
def test_workers_get_the_versions_of_their_parameters(addresses, monkeypatch, all_or_none):
    """The first worker passes those of an all-or-none step on to the others."""
    sent = []
    with Client(addresses) as client:
        client.put({"v": np.zeros(2, np.float32), "w": np.zeros(3, np.float32)})
        optimizer = client.optimizer("o", "SGD", [{"params": ["v", "w"], "lr": 1.0}])
        client.get(["v", "w"])
        for worker in range(2):
            stub = client._workers.stub(worker)

            def step(request, *, original=stub.Step, **options):
                sent.append(dict(request.staleness.versions))
                return original(request, **options)

            monkeypatch.setattr(stub, "Step", step)
        with optimizer.context() as context:
            context.push({"v": np.ones(2, np.float32), "w": np.ones(3, np.float32)})
            if all_or_none:
                with pytest.raises(WorkersFailedError, match="--store"):
                    optimizer.step(context, all_or_none=True, max_age=0)
                assert sent == [{"v": 1, "w": 1}]
            else:
                assert optimizer.step(context, max_age=0) == 2
                assert sorted(sent, key=list) == [{"v": 1}, {"w": 1}]


def test_old_gradients_are_refused_or_scaled(addresses):
    ones = np.ones(2, np.float32)
    with Client(addresses) as client:
        client.put({"v": ones, "w": ones})
        optimizer = client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])
        client.get(["w"])
        assert client.versions() == {"v": 1, "w": 1}
        with optimizer.context() as old:
            old.push({"w": ones})
            with optimizer.context() as context:
                context.push({"w": ones})
                optimizer.step(context, max_age=0)
            with pytest.raises(WorkersFailedError, match="at most 0 versions") as caught:
                optimizer.step(old, max_age=0)
            assert caught.value.failures[0].reason == "stale"
            assert optimizer.step(old, max_age=0, scale_old=True) == 1
        assert client.versions() == {"v": 1, "w": 3}
        assert client.get(["w"])["w"].tolist() == [-0.5, -0.5]
        with optimizer.context() as context:  # of the version that was just read
            context.push({"w": ones})
            assert optimizer.step(context, max_age=0) == 1
