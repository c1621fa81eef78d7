"""Contexts and their pushes after errors, and hyperparameters whose sending failed."""

import signal

import numpy as np
import pytest

import updraft
from updraft.distributed.grpc import Client, ContextLostError, WorkersFailedError

from .conftest import running, wait_until

ZEROS = np.zeros(2, np.float32)


def gradient(value):
    return np.full(2, value, np.float32)


def with_w(client):
    """Puts a parameter `w`, and returns an optimizer whose step subtracts the gradient."""
    client.put({"w": ZEROS})
    return client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])


def test_a_step_needs_all_pushes_again(killed):
    with Client([killed.address]) as client:
        optimizer = with_w(client)
        with optimizer.context() as context:
            context.push({"w": gradient(1)})
            context.push({"w": gradient(10)})
            killed.kill()
            with pytest.raises(ContextLostError):
                optimizer.step(context)
            context.push({"w": gradient(1)})
            with pytest.raises(updraft.InvalidArgumentError, match="1 of the context's 2 pushes"):
                optimizer.step(context)
            context.push({"w": gradient(10)})
            assert optimizer.step(context) == 1
        assert list(client.get(["w"])["w"]) == [-11, -11]


def test_a_client_without_pushes_opens_a_lost_context_again(killed):
    with Client([killed.address]) as leading, Client([killed.address]) as client:
        optimizer = with_w(leading)
        others = client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])
        with optimizer.context(5) as context, others.context(5) as its:
            its.push({"w": gradient(1)})
            killed.kill()
            with pytest.raises(ContextLostError):
                optimizer.step(context)
            with pytest.raises(ContextLostError):
                its.push({"w": gradient(1)})
            its.push({"w": gradient(1)})
            assert optimizer.step(context) == 1
        assert list(leading.get(["w"])["w"]) == [-1, -1]


def test_a_repeated_push_has_the_same_parameters(addresses):
    names = [f"p{i}" for i in range(4)]
    with Client(addresses) as client:
        client.put(dict.fromkeys(names, ZEROS))
        optimizer = client.optimizer("o", "SGD", [{"params": names, "lr": 1.0}])
        with optimizer.context() as context:
            with pytest.raises(WorkersFailedError):
                context.push({"p0": gradient(1), "p1": np.ones(3, np.float32)})
            with pytest.raises(updraft.InvalidArgumentError, match="push 1 of the context is"):
                context.push({"p0": gradient(10)})
            with pytest.raises(
                updraft.InvalidArgumentError,
                match="push 1 of the context failed, and only some workers may have its gradients; "
                "push the same gradients again before the step",
            ):
                optimizer.step(context)
            context.push({"p0": gradient(1), "p1": gradient(1)})
            optimizer.step(context)
        assert [client.get([name])[name][0] for name in names] == [-1, -1, 0, 0]


def test_a_push_that_all_workers_refuse_is_forgotten(addresses):
    names = ["v", "w"]  # on two workers
    wrong = np.ones(3, np.float32)
    with Client(addresses) as client:
        client.put(dict.fromkeys(names, ZEROS))
        optimizer = client.optimizer("o", "SGD", [{"params": names, "lr": 1.0}])
        with optimizer.context() as context:
            context.push({"v": gradient(1)})
            with pytest.raises(WorkersFailedError):
                context.push({"v": wrong, "w": wrong})
            context.push({"w": gradient(1)})
            assert optimizer.step(context) == 2
            with pytest.raises(WorkersFailedError, match="stepped"):
                context.push({"w": gradient(1)})
            assert optimizer.step(context) == 2
        assert [client.get([name])[name][0] for name in names] == [-2, -2]


def test_a_push_without_an_answer_is_not_forgotten():
    """The worker may have added its gradients, or may still do so."""
    with running() as (address, process), Client([address], timeout=1) as client:
        optimizer = with_w(client)
        with optimizer.context() as context:
            wrong = {"w": np.ones(3, np.float32)}
            process.send_signal(signal.SIGSTOP)
            with pytest.raises(WorkersFailedError):
                context.push(wrong)
            process.send_signal(signal.SIGCONT)

            def is_refused():  # only the repetition; a busy machine may not answer in time
                with pytest.raises(WorkersFailedError) as refused:
                    context.push(wrong)
                return [each.code for each in refused.value.failures] == ["INVALID_ARGUMENT"]

            wait_until(is_refused)
            with pytest.raises(updraft.InvalidArgumentError, match="push 1 of the context failed"):
                optimizer.step(context)
            context.push({"w": gradient(1)})
            assert optimizer.step(context) == 1
        assert list(client.get(["w"])["w"]) == [-1, -1]


@pytest.mark.parametrize("all_or_none", [False, True])
def test_a_context_of_another_optimizer(addresses, all_or_none):
    """Only a part of its parameters would be stepped: those on the workers of the other one."""
    names = ["v", "w"]  # on two workers
    with Client(addresses) as client:
        client.put({"v": gradient(0), "w": np.zeros(3, np.float32)})
        client.put({"other": gradient(0)})
        optimizer = client.optimizer("o", "SGD", [{"params": names, "lr": 1.0}])
        another = client.optimizer("another", "SGD", [{"params": ["other"], "lr": 1.0}])
        with optimizer.context() as context:
            context.push({"v": gradient(1)})
            with pytest.raises(
                updraft.InvalidArgumentError,
                match="opened for optimizer `o`, and a step of optimizer `another` can't use it",
            ):
                another.step(context, all_or_none=all_or_none)
            assert not client.get(["v"])["v"].any()
            assert optimizer.step(context) == 1


def test_a_context_of_another_optimizer_of_the_name(addresses):
    with Client(addresses[:1]) as client, Client(addresses[1:]) as other:
        optimizer, others = with_w(client), with_w(other)
        with optimizer.context() as context:
            context.push({"w": gradient(1)})
            with pytest.raises(updraft.InvalidArgumentError, match="has other workers or groups"):
                others.step(context)
            again = client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])
            assert again.step(context) == 1
        assert list(client.get(["w"])["w"]) == [-1, -1]


def test_a_closed_context(addresses):
    with Client(addresses) as client:
        optimizer = with_w(client)
        with optimizer.context() as context:
            context.push({"w": gradient(1)})
        for use in (lambda: context.push({"w": gradient(1)}), lambda: optimizer.step(context)):
            with pytest.raises(updraft.InvalidArgumentError, match="the context is closed"):
                use()


def test_leaving_the_block_without_the_worker():
    """An answered step must not look like a failed one."""
    with running() as (address, process), Client([address], timeout=1) as client:
        optimizer = with_w(client)
        with optimizer.context() as context:
            context.push({"w": gradient(1)})
            assert optimizer.step(context) == 1
            process.kill()


def test_a_hyperparameter_is_set_back_after_an_error(addresses, monkeypatch):
    with Client(addresses) as client:
        optimizer = with_w(client)
        workers, failures = client._workers, ["the answer is lost"]
        call_each = workers.call_each

        def losing_one(some, call, *rest):
            results = call_each(some, call, *rest)
            if "SetHyperparameters" in call.__code__.co_names and failures:
                raise RuntimeError(failures.pop())
            return results

        monkeypatch.setattr(workers, "call_each", losing_one)
        with optimizer.context() as context:
            context.push({"w": gradient(1)})
            optimizer.param_groups[0]["lr"] = 100.0
            with pytest.raises(RuntimeError, match="the answer is lost"):
                optimizer.step(context)
            optimizer.param_groups[0]["lr"] = 1.0
            optimizer.step(context)
        assert list(client.get(["w"])["w"]) == [-1, -1]


def test_groups_are_neither_added_nor_removed(addresses):
    with Client(addresses) as client:
        optimizer = with_w(client)
        optimizer.param_groups.append({"params": [], "lr": 1.0})
        with (
            optimizer.context() as context,
            pytest.raises(
                updraft.InvalidArgumentError,
                match="has 2 groups, but the optimizer was made with 1",
            ),
        ):
            optimizer.step(context)


def test_a_parameter_that_another_worker_got_meanwhile():
    """Workers without stores lose their parameters when they are started again."""
    with running() as (one, process), running() as (other, _), Client([one, other]) as client:
        client.put({"w": ZEROS})
        process.kill()
        process.wait()
        with running(address=one), Client([other]) as later:
            later.put({"w": gradient(1)})
            client.put({"w": gradient(3)})
            assert list(later.get(["w"])["w"]) == [3, 3]
            assert list(client.get(["w"])["w"]) == [3, 3]
