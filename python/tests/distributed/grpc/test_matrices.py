"""Rules of matrices on workers: the bits of this process, also after a restart."""

import numpy as np
import pytest

import updraft
from updraft.distributed.grpc import Client, WorkersFailedError

from .conftest import running

SHAPES = {"square": (8, 8), "wide": (6, 20), "batch": (2, 5, 3), "vector": (7,)}
RULES = {
    "Muon": {"lr": 0.02},
    "NorMuon": {},
    "SOAP": {"precondition_frequency": 2},
    "Shampoo": {"precondition_frequency": 2, "start_preconditioning_step": 2},
    "PSGDPro": {},
}


def random_arrays(seed):
    """Returns an array of each shape."""
    noise = np.random.default_rng(seed)
    return {name: noise.standard_normal(shape, np.float32) for name, shape in SHAPES.items()}


def step(optimizer, gradients):
    with optimizer.context() as context:
        context.push(gradients)
        optimizer.step(context)


@pytest.mark.parametrize("rule", RULES)
def test_steps_have_the_bits_of_this_process(killed, rule):
    local = list(random_arrays(0).values())
    here = updraft.ArrayOptimizer(updraft.load(rule).compile(), local, **RULES[rule])
    with Client([killed.address]) as client:
        client.put(random_arrays(0))
        there = client.optimizer("o", rule, [{"params": list(SHAPES), **RULES[rule]}])
        for number in range(1, 7):
            if number == 4:
                killed.kill()
            here.step(list(random_arrays(number).values()))
            step(there, random_arrays(number))
        for name, value in zip(SHAPES, local, strict=True):
            np.testing.assert_array_equal(client.get([name])[name], value)


def test_attention_logits_are_states():
    """QK-clip: a step clips by the logits that `load_states` has set."""
    logits = np.array([50, 200, 100, 400], np.float32)
    local = [np.ones((4, 3), np.float32)]
    options = {"lr": 0.1, "logit_threshold": 100.0}
    here = updraft.ArrayOptimizer(updraft.load("MuonClip").compile(), local, **options)
    gradient = np.arange(12, dtype=np.float32).reshape(4, 3)
    with running() as (address, _), Client([address]) as client:
        client.put({"w": local[0].copy()})
        there = client.optimizer("o", "MuonClip", [{"params": ["w"], **options}])
        for _ in range(2):
            here.step([gradient])
            step(there, {"w": gradient})
        unclipped = client.get(["w"])["w"]
        states = there.states()
        for observed in (here.state(0)["max_logits"], states["w"]["max_logits"]):
            observed[:] = logits.reshape(observed.shape)
        there.load_states(states)
        here.step([gradient])
        step(there, {"w": gradient})
        after = client.get(["w"])["w"]
    np.testing.assert_array_equal(after, local[0])
    moved = np.linalg.norm(after - unclipped, axis=1)
    assert (moved[[1, 3]] > 2 * moved[[0, 2]]).all()


def test_a_worker_without_lapack_says_so(monkeypatch):
    monkeypatch.setenv("UPDRAFT_LAPACK", "/none/liblapack.so")
    with running() as (address, process), Client([address]) as client:
        client.put({"w": np.ones((3, 2), np.float32)})
        groups = [{"params": ["w"]}]
        with pytest.raises(
            WorkersFailedError, match="need LAPACK, but it can't be loaded"
        ) as raised:
            client.optimizer("o", "SOAP", groups)
        assert [failure.code for failure in raised.value.failures] == ["FAILED_PRECONDITION"]
        muon = client.optimizer("p", "Muon", groups)
        step(muon, {"w": np.ones((3, 2), np.float32)})
        assert process.poll() is None
