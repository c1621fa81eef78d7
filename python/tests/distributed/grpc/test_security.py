"""Clients that a worker refuses: the answer doesn't say why, the log does."""

import hashlib
import os
import re
import socket
import ssl
import time
import urllib.request

import grpc
import numpy as np
import pytest

from updraft.distributed.grpc import Client, WorkersFailedError
from updraft.worker.v1 import worker_pb2 as messages

from .certificates import Authority
from .conftest import free_port, running


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates") / "ours", "Ours")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates") / "theirs", "Theirs")


def digest(token):
    return hashlib.sha256(token.encode()).hexdigest()


class Guarded:
    """A worker with TLS that logs to a file."""

    def __init__(self, folder, authority, access, *options):
        self.authority = authority
        self.access = folder / "access.txt"
        self.access.write_text(access)
        self.log = folder / "log.txt"
        certificate, key = authority.issue("worker")
        self.options = [f"--tls-cert={certificate}", f"--tls-key={key}", *options]

    def __enter__(self):
        self.errors = self.log.open("w")
        self.running = running(f"--access={self.access}", *self.options, stderr=self.errors)
        self.address, _ = self.running.__enter__()
        return self

    def __exit__(self, *exception):
        self.running.__exit__(None, None, None)
        self.errors.close()

    def client(self, *, token=None, certificate=None, roots=None, **options):
        chain, key = (path.read_bytes() for path in certificate) if certificate else (None, None)
        roots = (roots or self.authority).certificate.read_bytes()
        credentials = grpc.ssl_channel_credentials(roots, key, chain)
        return Client([self.address], credentials=credentials, token=token, **options)

    def logged(self, text):
        """Waits for a line with the text."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            for line in self.log.read_text().splitlines():
                if text in line:
                    return line
            time.sleep(0.02)
        raise AssertionError(self.log.read_text())


def refusal(call):
    with pytest.raises(WorkersFailedError) as caught:
        call()
    [failure] = caught.value.failures
    return failure.code, failure.message


NO_CREDENTIALS = ("UNAUTHENTICATED", "the request has no valid credentials")
WRONG_ROLE = ("PERMISSION_DENIED", "the client may not do this")


def test_tokens_and_their_roles(tmp_path, authority):
    access = "\n".join(
        [
            "# tokens",
            f"token {digest('admin')} admin",
            f"token {digest('trainer')} trainer optimizer=ours",
            f"token {digest('reader')} reader",
            f"token {digest('old')} admin until=2020-01-31T00:00:00Z",
            f"token {digest('peer')} peer",
        ]
    )
    ones = np.ones(2, np.float32)
    with Guarded(tmp_path, authority, access) as worker:
        with worker.client(token="admin") as admin:
            admin.put({"w": ones})
            groups = [{"params": ["w"], "lr": 1.0}]
            for name in ("ours", "theirs"):
                admin.optimizer(name, "SGD", groups)

            with worker.client(token="trainer") as trainer:
                assert refusal(lambda: trainer.put({"w": ones})) == WRONG_ROLE
                other = [{"params": ["w"], "lr": 2.0}]
                for name in ("ours", "new"):
                    code, _ = refusal(lambda name=name: trainer.optimizer(name, "SGD", other))
                    assert code == ("ALREADY_EXISTS" if name == "ours" else "PERMISSION_DENIED")
            assert "wrong role, optimizer or client" in worker.logged("request refused")

            with worker.client(token="trainer") as trainer:
                ours = trainer.optimizer("ours", "SGD", groups)
                with ours.context() as context:
                    context.push({"w": ones})
                    assert ours.step(context) == 1
                assert refusal(lambda: trainer.optimizer("theirs", "SGD", groups)) == WRONG_ROLE
            assert "optimizer=theirs" in worker.logged("optimizer=theirs")

        with worker.client(token="reader") as reader:
            assert reader.get(["w"])["w"].tolist() == [0, 0]
            assert refusal(lambda: reader.put({"w": ones})) == WRONG_ROLE
        with worker.client(token="peer") as peer:
            assert refusal(lambda: peer.get(["w"])) == WRONG_ROLE
        for token, reason in {
            "wrong": "unknown token or certificate",
            "old": "reason=expired",
            None: "neither token nor certificate",
        }.items():
            with worker.client(token=token) as client:
                assert refusal(lambda: client.get(["w"])) == NO_CREDENTIALS
            worker.logged(reason)
        for token in ("admin", "trainer", "reader", "wrong", "old"):
            assert token not in re.sub(
                r"wrong role, optimizer or client|optimizer=\w+", "", worker.log.read_text()
            )


def test_an_empty_token_is_no_credential(tmp_path, authority):
    access = f"token {digest('a')} admin"
    with Guarded(tmp_path, authority, access) as worker, worker.client() as client:
        describe = client._workers.stub(0).Describe
        empty = [("authorization", "Bearer ")]
        with pytest.raises(grpc.RpcError) as caught:
            describe(messages.DescribeRequest(), metadata=empty, timeout=60)
        assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
        worker.logged("neither token nor certificate")


def test_names_of_clients_that_belong_to_a_token(tmp_path, authority):
    access = "\n".join(
        [
            f"token {digest('first')} admin client=alice client=team",
            f"token {digest('second')} admin",
        ]
    )
    ones = np.ones(2, np.float32)
    with Guarded(tmp_path, authority, access) as worker:

        def step(token, name):
            with worker.client(token=token, name=name) as client:
                client.put({"w": ones})
                optimizer = client.optimizer("ours", "SGD", [{"params": ["w"], "lr": 1.0}])
                with optimizer.context() as context:
                    context.push({"w": ones})
                    return optimizer.step(context)

        for name in ("alice", "team", "team/1"):
            assert step("first", name) == 1
        for name in ("alice2", "bob", "tea", "team-1"):
            assert refusal(lambda name=name: step("first", name)) == WRONG_ROLE
            assert f"client={name}" in worker.logged(f"client={name}")
        assert step("second", "bob") == 1


def test_an_admin_of_one_optimizer(tmp_path, authority):
    access = f"token {digest('all')} admin\ntoken {digest('mine')} admin optimizer=mine\n"
    ones = np.ones(2, np.float32)
    groups = [{"params": ["w"], "lr": 1.0}]
    with Guarded(tmp_path, authority, access, f"--store={tmp_path / 'store'}") as worker:
        with worker.client(token="mine") as mine:
            assert refusal(lambda: mine.put({"w": ones})) == WRONG_ROLE
            assert refusal(mine.take_snapshots) == WRONG_ROLE
        with worker.client(token="all") as everything:
            everything.put({"w": ones})
            with worker.client(token="mine") as mine:
                assert refusal(lambda: mine.optimizer("mine", "SGD", groups)) == WRONG_ROLE
            everything.optimizer("mine", "SGD", groups)
            everything.take_snapshots()
        with worker.client(token="mine") as mine:
            optimizer = mine.optimizer("mine", "SGD", groups)
            optimizer.load_states(optimizer.states())


def test_messages_are_not_decompressed(tmp_path, authority):
    with Guarded(tmp_path, authority, f"token {digest('admin')} admin") as worker:
        roots = grpc.ssl_channel_credentials(authority.certificate.read_bytes())
        with grpc.secure_channel(worker.address, roots) as channel:
            call = channel.unary_unary("/updraft.worker.v1.Worker/KeepAlive")
            with pytest.raises(grpc.RpcError) as caught:
                call(bytes(100 << 20), timeout=60, compression=grpc.Compression.Gzip)
        assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED


def test_reflection_needs_credentials(tmp_path, authority):
    list_services = b"\x3a\x00"  # the field list_services of ServerReflectionRequest
    roots = grpc.ssl_channel_credentials(authority.certificate.read_bytes())
    with (
        Guarded(tmp_path, authority, f"token {digest('reader')} reader") as worker,
        grpc.secure_channel(worker.address, roots) as channel,
    ):
        reflection = channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        )
        with pytest.raises(grpc.RpcError) as caught:
            next(reflection(iter([list_services]), timeout=60))
        assert caught.value.code() == grpc.StatusCode.CANCELLED
        worker.logged("neither token nor certificate")
        answers = reflection(
            iter([list_services]), timeout=60, metadata=[("authorization", "Bearer reader")]
        )
        assert b"updraft.worker.v1.Worker" in next(answers)


def test_a_revoked_token(tmp_path, authority):
    with (
        Guarded(tmp_path, authority, f"token {digest('a')} admin\n") as worker,
        worker.client(token="a") as client,
    ):
        client.put({"w": np.ones(2, np.float32)})
        worker.access.write_text(f"token {digest('b')} admin\ntoken x admin\n")
        worker.logged("is not a SHA-256 digest")
        assert client.get(["w"])["w"].tolist() == [1, 1]  # the old file counts
        before = worker.access.stat()
        worker.access.write_text(f"token {digest('b')} admin\n")
        os.utime(worker.access, ns=(before.st_atime_ns, before.st_mtime_ns))
        worker.logged("access file read")
        assert refusal(lambda: client.get(["w"])) == NO_CREDENTIALS


@pytest.fixture
def mutual(tmp_path, authority):
    access = "certificate trainer admin\n"
    with Guarded(tmp_path, authority, access, f"--tls-client-ca={authority.certificate}") as worker:
        yield worker


def test_a_clients_certificate(mutual, authority):
    with mutual.client(certificate=authority.issue("trainer")) as client:
        client.put({"w": np.ones(2, np.float32)})
        assert client.get(["w"])["w"].tolist() == [1, 1]
    with mutual.client(certificate=authority.issue("somebody")) as client:
        assert refusal(lambda: client.get(["w"])) == NO_CREDENTIALS
    assert "certificate=somebody" in mutual.logged("request refused")


@pytest.mark.parametrize("which", ["none", "of a stranger", "expired", "stranger's worker"])
def test_a_handshake_that_fails(mutual, authority, stranger, which):
    certificate = {
        "of a stranger": lambda: stranger.issue("trainer"),
        "expired": lambda: authority.issue("trainer", days=0),
    }.get(which, lambda: None)()
    time.sleep(1.1)  # until the certificate expires
    roots = stranger if which == "stranger's worker" else authority
    with mutual.client(certificate=certificate, roots=roots, timeout=1) as client:
        code, message = refusal(lambda: client.get(["w"]))
        assert code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")
        assert "token" not in message
    if which != "stranger's worker":  # which the client refuses
        mutual.logged("Handshake failed")


def test_tls_1_2_is_refused(mutual, authority):
    context = ssl.create_default_context(cafile=authority.certificate)
    context.load_cert_chain(*authority.issue("trainer"))
    context.set_alpn_protocols(["h2"])
    host, port = mutual.address.split(":")
    for version, works in ((ssl.TLSVersion.TLSv1_3, True), (ssl.TLSVersion.TLSv1_2, False)):
        context.minimum_version = context.maximum_version = version
        with socket.create_connection((host, int(port))) as plain:
            if works:
                with context.wrap_socket(plain, server_hostname=host) as secure:
                    assert secure.version() == "TLSv1.3"
            else:
                with pytest.raises((ssl.SSLError, ConnectionError)):
                    context.wrap_socket(plain, server_hostname=host)


def test_failed_handshakes_are_counted(tmp_path, authority):
    port = free_port()
    options = [f"--tls-client-ca={authority.certificate}", f"--metrics=127.0.0.1:{port}"]
    with Guarded(tmp_path, authority, "certificate trainer admin\n", *options) as worker:
        with worker.client(timeout=1) as client:
            refusal(lambda: client.get(["w"]))
        with worker.client(certificate=authority.issue("trainer")) as client:
            client.put({"w": np.ones(2, np.float32)})
        worker.logged("Handshake failed")
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            text = page.read().decode()
    metrics = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(metrics["updraft_failed_handshakes_total"]) >= 1
    assert metrics["updraft_parameters"] == "1"
    assert metrics["updraft_tensor_bytes"] == "8"
    assert metrics['updraft_requests_total{code="OK",method="PutParameters"}'] == "1"
    assert metrics['updraft_request_seconds_count{method="PutParameters"}'] == "1"


def test_certificates_are_read_again(tmp_path, authority, stranger):
    with Guarded(tmp_path, authority, f"token {digest('a')} admin\n") as worker:
        with worker.client(token="a") as client:
            client.put({"w": np.ones(2, np.float32)})
        certificate, key = stranger.issue("worker")
        own = [option.split("=", 1)[1] for option in worker.options[:2]]
        for new, old in zip((certificate, key), own, strict=True):
            with open(old, "wb") as file:
                file.write(new.read_bytes())
        end = time.monotonic() + 20
        while True:
            try:
                with worker.client(token="a", roots=stranger, timeout=0.5) as client:
                    assert client.get(["w"])["w"].tolist() == [1, 1]
                break
            except WorkersFailedError:
                assert time.monotonic() < end
