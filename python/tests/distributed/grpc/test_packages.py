"""Packages in place of a rule's text."""

import os
import subprocess

import grpc
import numpy as np
import pytest

from updraft.distributed.grpc import Client
from updraft.worker.v1 import worker_pb2 as messages

from .conftest import ROOT, WORKER, running

PACKAGES_ONLY = os.environ.get("UPDRAFT_PACKAGES_ONLY_WORKER", WORKER)
UPDRAFTC = ROOT / "build" / "release" / "bin" / "updraftc"


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """The paths of two pairs of keys."""
    folder = tmp_path_factory.mktemp("keys")
    pairs = []
    for name in ("ours", "theirs"):
        private, public = folder / f"{name}.pem", folder / f"{name}.pub"
        for arguments in (
            ["genpkey", "-algorithm", "ed25519", "-out", private],
            ["pkey", "-in", private, "-pubout", "-out", public],
        ):
            subprocess.run(["openssl", *arguments], check=True, capture_output=True)
        pairs.append((private, public))
    return pairs


def packed(folder, *options):
    path = folder / "sgd.updraft"
    rule = ROOT / "rules" / "sgd.upd"
    subprocess.run([UPDRAFTC, "pack", rule, "--target=x86-64-v2", "-o", path, *options], check=True)
    return path.read_bytes()


def create(client, source, **rule):
    """Creates an optimizer of the parameter `w`. Returns the error's message."""
    request = messages.CreateOptimizerRequest(
        optimizer="o",
        rule=messages.Rule(source=source, **rule),
        groups=[messages.ParameterGroup(parameters=["w"], hyperparameters={"lr": 1.0})],
    )
    try:
        client._workers.stub(0).CreateOptimizer(request, timeout=10)
    except grpc.RpcError as error:
        return error.details()
    return ""


def test_signed_packages_are_rules(tmp_path, keys):
    (ours, public), (theirs, _) = keys
    with running(f"--package-key={public}") as (address, _), Client([address]) as client:
        client.put({"w": np.zeros(2, np.float32)})
        assert "not signed" in create(client, packed(tmp_path))
        assert "key" in create(client, packed(tmp_path, f"--sign={theirs}"))
        signed = packed(tmp_path, f"--sign={ours}")
        assert "damaged" in create(client, signed[:-1] + bytes([signed[-1] ^ 1]))
        assert "a package has its rule, flags" in create(client, signed, numerics="fast")
        assert create(client, signed) == ""
        # The same optimizer can now be used.
        source = (ROOT / "rules" / "sgd.upd").read_text()
        assert "there is another optimizer" in create(client, source.encode())


def test_a_worker_that_takes_packages_alone(tmp_path, keys):
    """`tools/test --long=grpc` runs this with a worker that was built without the compiler, too."""
    (ours, public), _ = keys
    options = ["--packages-only", f"--package-key={public}"]
    with running(*options, program=PACKAGES_ONLY) as (address, _), Client([address]) as client:
        client.put({"w": np.zeros(2, np.float32)})
        source = (ROOT / "rules" / "sgd.upd").read_bytes()
        assert create(client, source) == (
            "this worker takes signed packages alone; compile the rule with `updraftc pack --sign`"
        )
        packed(tmp_path, f"--sign={ours}")
        groups = [{"params": ["w"], "lr": 1.0}]
        optimizer = client.optimizer("o", tmp_path / "sgd.updraft", groups)
        with optimizer.context() as context:
            context.push({"w": np.ones(2, np.float32)})
            assert optimizer.step(context) == 1
        assert list(client.get(["w"])["w"]) == [-1, -1]


def test_packages_are_refused_without_a_key(tmp_path, keys):
    (ours, _), _ = keys
    with running() as (address, _), Client([address]) as client:
        client.put({"w": np.zeros(2, np.float32)})
        assert create(client, packed(tmp_path, f"--sign={ours}")) == (
            "the rule is a package, which contains machine code, and this worker takes none "
            "without --package-key; send the rule's text"
        )


def test_a_rule_with_an_error_is_refused(addresses):
    with Client(addresses[:1]) as client:
        client.put({"w": np.zeros(2, np.float32)})
        assert create(client, b"rule R() { update(param, grad) { next param = x } }").startswith(
            "<rule>:1:47: error: unknown name `x`"
        )
        assert create(client, b"x" * 70_000) == (
            "the rule's text has 70000 bytes; a worker takes at most 65536"
        )
        assert "a worker reads no files for a client" in create(client, b'import "x.upd"')
