"""States that move to other workers."""

import contextlib

import numpy as np
import pytest

from updraft import InvalidArgumentError
from updraft.distributed.grpc import Client, WorkersFailedError

from .conftest import running

NAMES = [f"p{number}" for number in range(5)]


def values():
    random = np.random.default_rng(0)
    return {name: random.standard_normal(300).astype(np.float32) for name in NAMES}


def train(optimizer, steps):
    random = np.random.default_rng(steps)
    for _ in range(steps):
        with optimizer.context() as context:
            context.push({name: random.standard_normal(300).astype(np.float32) for name in NAMES})
            optimizer.step(context)


def made(client, rule, storage):
    groups = [{"params": NAMES[:2], "lr": 0.1}, {"params": NAMES[2:], "lr": 0.01}]
    return client.optimizer("o", rule, groups, storage=storage, seed=7)


@pytest.mark.parametrize(
    ("rule", "storage"),
    [
        ("AdamW", {}),
        ("AdamW", {"state": "q8_companded"}),
        ("AdamW", {"state": "bf16_stochastic"}),
        ("SGD", {}),
    ],
    ids=str,
)
def test_training_continues_on_other_workers(rule, storage):
    """Three workers continue the training of two, with the bits that one worker has."""
    results = []
    for counts in ((1, 1), (2, 3)):
        parameters, states = values(), {}
        for number, count in enumerate(counts):
            with contextlib.ExitStack() as stack:
                addresses = [stack.enter_context(running())[0] for _ in range(count)]
                client = stack.enter_context(Client(addresses))
                client.put(parameters)
                optimizer = made(client, rule, storage)
                if states:
                    optimizer.load_states(states)
                train(optimizer, 3 + number)
                parameters, states = client.get(NAMES), optimizer.states()
        results.append((parameters, states))
    (one, own), (other, theirs) = results
    assert own.keys() == theirs.keys() == set(NAMES)
    for name in NAMES:
        np.testing.assert_array_equal(one[name], other[name])
        assert own[name]["step"] == 7
        for state, array in own[name].items():
            np.testing.assert_array_equal(array, theirs[name][state])


def test_states_that_do_not_fit(addresses):
    with Client(addresses) as client:
        client.put(values())
        optimizer = made(client, "AdamW", {})
        train(optimizer, 1)
        before = optimizer.states()
        wrong = {name: dict(some) for name, some in before.items()}
        wrong["p0"]["exp_avg"] = np.zeros(3, np.float32)
        with pytest.raises(WorkersFailedError, match="`state/p0/exp_avg` has another shape"):
            optimizer.load_states(wrong)
        after = optimizer.states()
        np.testing.assert_array_equal(after["p0"]["exp_avg"], before["p0"]["exp_avg"])


def test_states_keep_their_codes(addresses):
    """Codes of one format mean other numbers in another."""
    with Client(addresses) as client:
        client.put(values())
        groups = [{"params": NAMES, "lr": 0.1}]
        companded, linear = (
            client.optimizer(name, "AdamW", groups, storage={"state": name})
            for name in ("q8_companded", "q8_linear")
        )
        train(companded, 1)
        states = companded.states()
        assert str(states["p0"]["exp_avg.storage"]) == "q8_companded"
        with pytest.raises(WorkersFailedError, match="is stored as `q8_companded`"):
            linear.load_states(states)
        states["p0"]["exp_avg.storage"] = np.array("q8_linear")
        with pytest.raises(InvalidArgumentError, match=r"`exp_avg\.storage` q8_linear"):
            companded.load_states(states)


def test_snapshots_need_a_store(addresses, tmp_path):
    with (
        Client(addresses) as client,
        pytest.raises(WorkersFailedError, match="start it with --store"),
    ):
        client.take_snapshots()
    with running(f"--store={tmp_path / 'store'}") as (address, _), Client([address]) as client:
        client.put({"w": np.ones(3, np.float32)})
        client.take_snapshots()
        assert (tmp_path / "store" / "snapshot-1-parameters.safetensors").exists()
