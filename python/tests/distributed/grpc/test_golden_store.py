"""A store that Updraft 0.1.0 wrote, in golden/store.txt.

A version that continues it with other bits breaks what users have. UPDRAFT_WRITE_GOLDEN=1 writes it
again, for a new number of the format.
"""

import base64
import io
import os
import pathlib
import platform
import subprocess
import tarfile

import grpc
import numpy as np
import pytest

import updraft
from updraft.distributed.grpc import Client
from updraft.distributed.grpc.files import arrays_of_file
from updraft.distributed.grpc.tensors import chunks_of
from updraft.worker.v1 import worker_pb2 as messages
from updraft.worker.v1 import worker_pb2_grpc as service

from .conftest import ROOT, WORKER, running

GOLDEN = pathlib.Path(__file__).parent / "golden" / "store.txt"
UPDRAFTC = ROOT / "build" / "release" / "bin" / "updraftc"

VALUES = {"v": np.full((2, 3), 2, np.float32), "w": np.linspace(-1, 1, 7, dtype=np.float32)}
RATES = {"v": 0.25, "w": 0.125}
STEPS = 4  # of which the snapshot has two

CLIENT = "golden"
IN_DOUBT = messages.Context(optimizer="doubt", number=1)
REQUEST = messages.RequestId(client=CLIENT, sequence=2)


def gradients(step):
    return {name: value * np.float32(step) + 1 for name, value in VALUES.items()}


def stepped(optimizer, step):
    with optimizer.context() as context:
        context.push(gradients(step))
        assert optimizer.step(context) == len(VALUES)


def groups():
    return [{"params": [name], "lr": RATES[name]} for name in VALUES]


def write(folder):
    """Fills a store, and kills the worker."""
    private, public = folder / "key.pem", folder / "key.pub"
    for command in (
        ["openssl", "genpkey", "-algorithm", "ed25519", "-out", private],
        ["openssl", "pkey", "-in", private, "-pubout", "-out", public],
    ):
        subprocess.run(command, check=True, capture_output=True)
    packages = {}
    for rule in ("adam", "sgd"):
        packages[rule] = folder / f"{rule}.updraft"
        options = ["--target=x86-64-v2", f"--sign={private}", "-o", packages[rule]]
        subprocess.run([UPDRAFTC, "pack", ROOT / "rules" / f"{rule}.upd", *options], check=True)
    options = [f"--store={folder / 'store'}", f"--package-key={public}"]
    with running(*options) as (address, _), Client([address]) as client:
        client.put(VALUES)
        optimizer = client.optimizer("o", packages["adam"], groups())
        for step in range(STEPS):
            if step == STEPS // 2:
                client.take_snapshots()
            stepped(optimizer, step)
        client.put({"u": np.ones(2, np.float32)})
        client.optimizer("doubt", packages["sgd"], [{"params": ["u"], "lr": 1.0}])
        prepare(client)


def push(client, context, sequence, arrays):
    stub = client._workers.stub(0)
    stub.Register(messages.RegisterRequest(client=CLIENT))
    stub.OpenContext(messages.OpenContextRequest(context=context, client=CLIENT))
    request = messages.RequestId(client=CLIENT, sequence=sequence)
    chunks = [chunk for name, array in arrays.items() for chunk in chunks_of(name, array)]
    stub.PushGradients(
        messages.PushGradientsRequest(context=context, request=request, chunk=chunk)
        for chunk in chunks
    )


def prepare(client):
    """Makes the worker ready for a step that another one coordinates, which then goes."""
    push(client, IN_DOUBT, 1, {"u": np.ones(2, np.float32)})
    with running() as (coordinator, _), grpc.insecure_channel(coordinator) as channel:
        epoch = service.PeerStub(channel).Identify(messages.IdentifyRequest()).epoch
        service.PeerStub(client._workers._channels[0]).Prepare(
            messages.PrepareRequest(
                context=IN_DOUBT,
                request=REQUEST,
                attempt=5,
                workers=[coordinator, "golden"],
                self=1,
                coordinator_epoch=epoch,
            )
        )


@pytest.fixture
def store(tmp_path):
    """A copy of the store."""
    if os.environ.get("UPDRAFT_WRITE_GOLDEN"):
        write(tmp_path)
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:xz") as files:
            files.add(tmp_path / "store", "store")
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_bytes(base64.encodebytes(packed.getvalue()))
    unpacked = tmp_path / "unpacked"
    with tarfile.open(fileobj=io.BytesIO(base64.decodebytes(GOLDEN.read_bytes()))) as files:
        files.extractall(unpacked)
    return unpacked / "store"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the store has code for x86-64")
def test_a_store_of_the_first_version_is_continued(store):
    verified = subprocess.run([WORKER, "verify", store], capture_output=True, text=True)
    assert (verified.returncode, verified.stderr) == (0, "")
    local = {name: value.copy() for name, value in VALUES.items()}
    rule = updraft.load("Adam").compile()
    optimizers = {
        name: updraft.ArrayOptimizer(rule, [value], lr=RATES[name]) for name, value in local.items()
    }

    def step_here(step):
        for name, gradient in gradients(step).items():
            optimizers[name].step([gradient])

    for step in range(STEPS):
        step_here(step)
    with running(f"--store={store}") as (address, _), Client([address]) as client:
        for name, value in client.get(VALUES).items():
            np.testing.assert_array_equal(value, local[name], strict=True)
        stub = client._workers.stub(0)
        peer = service.PeerStub(client._workers._channels[0])
        outcome = messages.GetOutcomeRequest(request=REQUEST, attempt=5)
        assert peer.GetOutcome(outcome).outcome == messages.GetOutcomeResponse.UNDECIDED
        peer.Decide(messages.DecideRequest(request=REQUEST, attempt=5, commit=True))
        assert client.get(["u"])["u"].tolist() == [0, 0]
        repeated = messages.StepRequest(context=IN_DOUBT, request=REQUEST)
        assert stub.Step(repeated).stepped == 1
        assert client.get(["u"])["u"].tolist() == [0, 0]
        file = b"".join(
            chunk.data for chunk in stub.GetStates(messages.GetStatesRequest(optimizer="o"))
        )
        arrays, _ = arrays_of_file(file)
        assert {int(arrays[f"state/{name}/step"]) for name in VALUES} == {STEPS}
        context = messages.Context(optimizer="o", number=2)
        push(client, context, 3, gradients(STEPS))
        step_here(STEPS)
        request = messages.RequestId(client=CLIENT, sequence=4)
        stub.Step(messages.StepRequest(context=context, request=request))
        for name, value in client.get(VALUES).items():
            np.testing.assert_array_equal(value, local[name], strict=True)
