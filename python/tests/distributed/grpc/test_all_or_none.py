"""All-or-none steps: of workers that are killed, of one that is in doubt, and of guarded ones."""

import concurrent.futures
import contextlib
import hashlib
import os
import random
import signal
import threading
import time
import urllib.request

import grpc
import numpy as np
import pytest

from updraft.distributed.grpc import Client, ContextLostError, WorkersFailedError
from updraft.worker.v1 import worker_pb2 as messages
from updraft.worker.v1 import worker_pb2_grpc as service

from .certificates import Authority
from .conftest import Killed, free_port, wait_until

KILLS = int(os.environ.get("UPDRAFT_PAIR_KILLS", "8"))
COUNT = 1000
ONES = np.ones(COUNT, np.float32)

# After these errors, the client repeats what it did.
REPEATED = {"UNAVAILABLE", "CANCELLED", "DEADLINE_EXCEEDED"}


class Watched(Killed):
    """A worker with metrics."""

    def __init__(self, store):
        super().__init__(store)
        self.port = free_port()
        self.options.append(f"--metrics=127.0.0.1:{self.port}")
        self.kill()

    def undecided(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as page:
            text = page.read().decode()
        [value] = [
            line.split()[1]
            for line in text.splitlines()
            if line.startswith("updraft_undecided_steps ")
        ]
        return int(value)


@contextlib.contextmanager
def started(kind, folder, count):
    """Yields workers with a store each."""
    with contextlib.ExitStack() as stack:
        workers = []
        for number in range(count):
            workers.append(kind(folder / f"store-{number}"))
            stack.callback(workers[-1].close)
        yield workers


def repeated(call):
    """Repeats a call until no worker fails, for at most 30 s."""
    end = time.monotonic() + 30
    while True:
        try:
            return call()
        except ContextLostError:
            raise
        except WorkersFailedError as error:
            assert {failure.code for failure in error.failures} <= REPEATED, error.failures
            assert time.monotonic() < end, error.failures


def stepped(optimizer, gradients):
    """Steps once, whatever happens to the workers."""
    with repeated(optimizer.context) as context:
        while True:
            try:
                repeated(lambda: context.push(gradients))
                return repeated(lambda: optimizer.step(context, all_or_none=True))
            except ContextLostError:
                continue


def stepped_or_given_up(optimizer, gradients):
    """Tries to step. Returns None if it isn't known whether a step is taken."""
    with repeated(optimizer.context) as context:
        try:
            context.push(gradients)
            time.sleep(random.uniform(0, 0.02))  # so that workers lose the context
            return optimizer.step(context, all_or_none=True)
        except WorkersFailedError:
            return None


@pytest.mark.parametrize("count", [2, 3])
def test_workers_that_are_killed_take_the_same_steps(tmp_path, count):
    """Two clients share a parameter `v` of each worker. One gives up steps of a parameter `w`."""
    names = {each: [f"{each}{number}" for number in range(count)] for each in "vw"}
    is_over = threading.Event()
    taken, given_up, errors = [0, 0, 0], [0, 0, 0], []

    def train(number, step, parameters, timeout):
        try:
            with Client(addresses, name=f"client-{number}", timeout=timeout) as client:
                groups = [{"params": parameters, "lr": 1.0}]
                optimizer = repeated(lambda: client.optimizer(f"o{number}", "SGD", groups))
                while not is_over.is_set():
                    answer = step(optimizer, dict.fromkeys(parameters, -ONES))
                    assert answer in (count, None)
                    (given_up if answer is None else taken)[number] += 1
        except Exception as error:
            errors.append(error)
            raise

    with started(Watched, tmp_path, count) as workers:
        addresses = [worker.address for worker in workers]
        for number, address in enumerate(addresses):
            with Client([address]) as client:
                client.put({f"{each}{number}": np.zeros(COUNT, np.float32) for each in "vw"})
        trainings = [
            (0, stepped, names["v"], 2),
            (1, stepped, names["v"][::-1], 2),  # with another coordinator
            (2, stepped_or_given_up, names["w"], 0.1),
        ]
        threads = [threading.Thread(target=train, args=each, daemon=True) for each in trainings]
        for thread in threads:
            thread.start()
        try:
            wait_until(lambda: all(taken) or errors, 30)
            chance = random.Random(count)
            for kill in range(KILLS // (count - 1)):
                if kill % 2 == 0:  # otherwise while they recover
                    before = sum(taken[:2])
                    wait_until(lambda before=before: sum(taken[:2]) > before or errors, 30)
                time.sleep(chance.uniform(0, 0.05))
                victims = chance.sample(workers, chance.choice([1, 1, 1, 2]))
                for worker in victims:
                    worker.close()
                for worker in victims:
                    worker.kill()
        finally:
            is_over.set()
            for thread in threads:
                thread.join(60)
        assert not errors
        assert not any(thread.is_alive() for thread in threads)
        wait_until(lambda: not any(worker.undecided() for worker in workers), 30)
        with Client(addresses) as client:
            for value in client.get(names["v"]).values():
                np.testing.assert_array_equal(value, np.full(COUNT, sum(taken[:2])))
            applied = {step for value in client.get(names["w"]).values() for step in value}
        print(f"steps taken: {taken}; given up: {given_up}; applied of the last client: {applied}")
        assert len(applied) == 1
        assert taken[2] <= min(applied) <= taken[2] + given_up[2]


# A client that sends requests itself. It has pushed under the number 1, and steps under 2.
CLIENT = "raw/1"
CONTEXT = messages.Context(optimizer="o", number=7)
REQUEST = messages.RequestId(client=CLIENT, sequence=2)
UNKNOWN, UNDECIDED, COMMITTED = (
    getattr(messages.GetOutcomeResponse, name) for name in ("UNKNOWN", "UNDECIDED", "COMMITTED")
)


@contextlib.contextmanager
def stubs(worker):
    with grpc.insecure_channel(worker.address) as channel:
        yield service.WorkerStub(channel), service.PeerStub(channel)


def push(worker, name):
    """Subtracts 1 from a parameter in the context's step."""
    tensor = messages.TensorInfo(name=name, dtype=messages.DTYPE_F32, shape=[COUNT])
    request = messages.PushGradientsRequest(
        context=CONTEXT,
        request=messages.RequestId(client=CLIENT, sequence=1),
        chunk=messages.TensorChunk(tensor=tensor, data=ONES.tobytes()),
    )
    with stubs(worker) as (stub, _):
        stub.Register(messages.RegisterRequest(client=CLIENT))
        stub.OpenContext(messages.OpenContextRequest(context=CONTEXT, client=CLIENT))
        stub.PushGradients(iter([request]))


def prepare(worker, attempt, workers, epoch):
    request = messages.PrepareRequest(
        context=CONTEXT,
        request=REQUEST,
        attempt=attempt,
        workers=workers,
        self=1,
        coordinator_epoch=epoch,
    )
    with stubs(worker) as (_, peer):
        return peer.Prepare(request).stepped


def epoch_of(worker):
    with stubs(worker) as (_, peer):
        return peer.Identify(messages.IdentifyRequest()).epoch


def outcome_on(worker, attempt):
    with stubs(worker) as (_, peer):
        return peer.GetOutcome(
            messages.GetOutcomeRequest(request=REQUEST, attempt=attempt), wait_for_ready=True
        ).outcome


@pytest.fixture
def pair(tmp_path):
    """Two workers, their client, and its optimizer of a parameter `v` and `w` on each."""
    with started(Watched, tmp_path, 2) as workers:
        addresses = [worker.address for worker in workers]
        with Client(addresses[:1]) as first, Client(addresses[1:]) as other:
            first.put({"v": np.zeros(COUNT, np.float32)})
            other.put({"w": np.zeros(COUNT, np.float32)})
        with Client(addresses) as client:
            groups = [{"params": ["v", "w"], "lr": 1.0}]
            yield *workers, client, client.optimizer("o", "SGD", groups)


def values(client):
    return {name: {*value} for name, value in client.get(["v", "w"]).items()}


def test_a_step_that_the_coordinator_does_not_know_is_abandoned(pair):
    coordinator, worker, client, optimizer = pair
    push(worker, "w")
    epoch = epoch_of(coordinator)
    assert prepare(worker, 5, [coordinator.address, worker.address], epoch) == 1
    assert outcome_on(coordinator, 5) == UNKNOWN
    wait_until(lambda: worker.undecided() == 0, 10)
    assert outcome_on(worker, 5) == UNKNOWN
    assert values(client) == {"v": {0}, "w": {0}}
    assert stepped(optimizer, {"v": ONES, "w": ONES}) == 2
    assert values(client) == {"v": {-1}, "w": {-1}}


def test_a_worker_is_in_doubt_until_the_coordinator_is_back(pair):
    """Both were killed, and nothing is decided. A later step of the worker waits."""
    coordinator, worker, client, optimizer = pair
    # By this step, the worker learns the coordinator's epoch.
    assert stepped(optimizer, {"v": ONES, "w": ONES}) == 2
    push(worker, "w")
    epoch = epoch_of(coordinator)
    coordinator.close()
    assert prepare(worker, 5, [coordinator.address, worker.address], epoch) == 1
    worker.kill()
    with Client([worker.address], timeout=1) as hasty:
        alone = hasty.optimizer("alone", "SGD", [{"params": ["w"], "lr": 1.0}])
        with alone.context() as context:
            context.push({"w": ONES})
            with pytest.raises(WorkersFailedError) as caught:
                alone.step(context)
            assert caught.value.failures[0].code == "DEADLINE_EXCEEDED"
            assert worker.undecided() == 1
            assert outcome_on(worker, 5) == UNDECIDED
            coordinator.kill()
            assert repeated(lambda: alone.step(context)) == 1
    assert worker.undecided() == 0
    assert outcome_on(worker, 5) == UNKNOWN
    assert values(client) == {"v": {-1}, "w": {-2}}
    assert stepped(optimizer, {"v": ONES, "w": ONES}) == 2
    assert values(client) == {"v": {-2}, "w": {-3}}


class Forwarder(service.PeerServicer):
    """Takes the place of a worker. Pauses it once it has prepared, and keeps decisions from it."""

    def __init__(self, peer, process):
        self.peer = peer
        self.process = process
        self.has_decision = threading.Event()
        self.is_over = threading.Event()

    def Prepare(self, request, context):  # noqa: N802
        response = self.peer.Prepare(request)
        self.process.send_signal(signal.SIGSTOP)  # so that it doesn't ask the coordinator
        return response

    def Decide(self, request, context):  # noqa: N802
        self.has_decision.set()
        self.is_over.wait()
        context.abort(grpc.StatusCode.UNAVAILABLE, "over")


def test_a_worker_learns_what_a_killed_coordinator_has_decided(pair):
    coordinator, worker, client, _ = pair
    push(coordinator, "v")
    push(worker, "w")
    with (
        concurrent.futures.ThreadPoolExecutor() as pool,
        grpc.insecure_channel(worker.address) as behind,
        grpc.insecure_channel(coordinator.address) as channel,
    ):
        forwarder = Forwarder(service.PeerStub(behind), worker.process)
        server = grpc.server(pool)
        service.add_PeerServicer_to_server(forwarder, server)
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        try:
            step = service.WorkerStub(channel).Step
            workers = [coordinator.address, address]
            request = messages.StepRequest(context=CONTEXT, request=REQUEST, workers=workers)
            answer = step.future(request)
            assert forwarder.has_decision.wait(10)
            coordinator.close()
            worker.process.send_signal(signal.SIGCONT)
            assert answer.code() == grpc.StatusCode.UNAVAILABLE
            time.sleep(1.2)  # the worker asks every 0.5 s
            assert worker.undecided() == 1
            assert outcome_on(worker, 5) == UNKNOWN  # another attempt
            coordinator.kill()
            wait_until(lambda: worker.undecided() == 0, 10)
            assert outcome_on(worker, 5) == COMMITTED
            assert step(request, wait_for_ready=True).stepped == 2
        finally:
            forwarder.is_over.set()
            server.stop(None).wait()
    assert coordinator.undecided() == 0
    assert values(client) == {"v": {-1}, "w": {-1}}


class Guarded(Killed):
    """A worker with TLS and an access file. `guard` names the workers that step with it."""

    def guard(self, folder, authority, peers):
        certificate, key = authority.issue("worker")
        self.options += [
            f"--tls-cert={certificate}",
            f"--tls-key={key}",
            f"--tls-peer-ca={authority.certificate}",
            f"--access={folder / 'access.txt'}",
            f"--peer-token={folder / 'peer.token'}",
            f"--peers={','.join(peers)}",
        ]
        self.kill()


@pytest.fixture
def guarded(tmp_path):
    """Two guarded workers, and credentials for them."""
    authority = Authority(tmp_path / "certificates", "Ours")
    roles = ("admin", "trainer", "peer")  # and also the tokens
    digests = [hashlib.sha256(role.encode()).hexdigest() for role in roles]
    (tmp_path / "access.txt").write_text(
        "".join(f"token {digest} {role}\n" for digest, role in zip(digests, roles, strict=True))
    )
    (tmp_path / "peer.token").write_text("peer")
    with started(Guarded, tmp_path, 2) as workers:
        for worker in workers:
            worker.guard(tmp_path, authority, [each.address for each in workers])
        roots = authority.certificate.read_bytes()
        yield *workers, grpc.ssl_channel_credentials(roots)


def test_only_a_peer_may_prepare_and_decide(guarded):
    worker, _, credentials = guarded
    requests = {
        "Prepare": messages.PrepareRequest(request=REQUEST, attempt=5),
        "Decide": messages.DecideRequest(request=REQUEST, attempt=5),
        "GetOutcome": messages.GetOutcomeRequest(request=REQUEST, attempt=5),
        "Identify": messages.IdentifyRequest(),
    }
    with grpc.secure_channel(worker.address, credentials) as channel:
        peer = service.PeerStub(channel)

        def code(method, token):
            metadata = [("authorization", f"Bearer {token}")]
            return getattr(peer, method).future(requests[method], metadata=metadata).code().name

        for method in requests:
            for token in ("admin", "trainer"):
                assert code(method, token) == "PERMISSION_DENIED"
        assert {method: code(method, "peer") for method in requests} == {
            "Prepare": "INVALID_ARGUMENT",  # no workers
            "Decide": "OK",
            "GetOutcome": "OK",
            "Identify": "OK",
        }


def put_and_step(guarded, addresses):
    """An admin puts parameters, and a trainer steps. Returns the codes and messages of failures."""
    one, other, credentials = guarded
    zeros = np.zeros(COUNT, np.float32)
    groups = [{"params": ["v", "w"], "lr": 1.0}]
    for worker, name in ((one, "v"), (other, "w")):
        with Client([worker.address], credentials=credentials, token="admin") as admin:
            admin.put({name: zeros})
    with Client(addresses, credentials=credentials, token="admin") as admin:
        admin.optimizer("o", "SGD", groups)
        with Client(addresses, credentials=credentials, token="trainer", timeout=5) as trainer:
            optimizer = trainer.optimizer("o", "SGD", groups)
            with optimizer.context() as context:
                context.push({"v": ONES, "w": ONES})
                try:
                    assert optimizer.step(context, all_or_none=True) == 2
                    failures = []
                except WorkersFailedError as error:
                    failures = error.failures
        return values(admin), [(each.code, each.message) for each in failures]


def test_guarded_workers_step(guarded):
    addresses = [worker.address for worker in guarded[:2]]
    assert put_and_step(guarded, addresses) == ({"v": {-1}, "w": {-1}}, [])


@pytest.mark.parametrize("which", [0, 1])
def test_an_address_that_is_not_among_the_peers_is_refused(guarded, which):
    """The client names the coordinator or the other worker by another address."""
    addresses = [worker.address for worker in guarded[:2]]
    addresses[which] = f"ipv4:{addresses[which]}"
    after, [(code, message)] = put_and_step(guarded, addresses)
    assert after == {"v": {0}, "w": {0}}
    assert code == "PERMISSION_DENIED"
    assert message.endswith(f"`{addresses[which]}` is not an address in this worker's --peers")


def test_a_worker_with_a_wrong_token_says_so(guarded, tmp_path):
    """The client doesn't look for the mistake among its own credentials."""
    (tmp_path / "wrong.token").write_text("wrong")
    guarded[0].options.append(f"--peer-token={tmp_path / 'wrong.token'}")
    guarded[0].options.remove(f"--peer-token={tmp_path / 'peer.token'}")
    guarded[0].kill()
    addresses = [worker.address for worker in guarded[:2]]
    after, [(code, message)] = put_and_step(guarded, addresses)
    assert after == {"v": {0}, "w": {0}}
    assert code == "FAILED_PRECONDITION"
    assert message.startswith(
        "one of the workers refuses another (--peers, --peer-token, --tls-peer-ca): "
    )
