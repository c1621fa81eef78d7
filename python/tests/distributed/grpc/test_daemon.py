"""The process of a worker: its snapshots, its end, health checks, metrics, and a full disk."""

import contextlib
import hashlib
import re
import resource
import signal
import threading
import time
import urllib.request

import grpc
import numpy as np
import pytest

from updraft.distributed.grpc import Client, ContextLostError, WorkersFailedError
from updraft.worker.v1 import worker_pb2 as messages

from .conftest import ROOT, free_port, running, statistics, wait_until

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"  # the field status of HealthCheckResponse

# A worker that ends cancels what it doesn't answer.
ENDED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


def sgd(client, name="w"):
    """Returns an optimizer whose step subtracts the gradient."""
    return client.optimizer("o", "SGD", [{"params": [name], "lr": 1.0}])


def step(optimizer, gradient, parameter="w"):
    with optimizer.context() as context:
        context.push({parameter: gradient})
        optimizer.step(context)


def end(process):
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0


# Snapshots


def test_the_last_snapshot_has_all_steps(tmp_path):
    options = [f"--store={tmp_path / 'store'}", "--durability=snapshot"]
    ones = np.ones(3, np.float32)
    for last in (-2, -4):
        with running(*options) as (address, process), Client([address]) as client:
            if last == -2:
                client.put({"w": 0 * ones})
            for _ in range(2):
                step(sgd(client), ones)
            assert statistics(client).journal_bytes == 0
            end(process)
        with running(*options) as (address, _), Client([address]) as client:
            assert client.get(["w"])["w"].tolist() == [last] * 3


@pytest.mark.parametrize("option", ["--snapshot-interval=1", "--journal=1"])
def test_snapshots_without_a_request(tmp_path, option):
    """A record of the parameter is longer than 1 MiB."""
    store = tmp_path / "store"
    ones = np.ones(300_000, np.float32)

    def newest():
        numbers = [int(path.name.split("-")[1]) for path in store.glob("snapshot-*.safetensors")]
        return max(numbers, default=0)

    with running(f"--store={store}", option) as (address, process), Client([address]) as client:
        client.put({"w": 0 * ones})
        optimizer = sgd(client)
        for steps in range(1, 3):
            before = newest()
            step(optimizer, ones)
            wait_until(lambda before=before: newest() > before)
            wait_until(lambda: statistics(client).journal_bytes < ones.nbytes)
            files = sum(path.stat().st_size for path in store.glob("journal-*"))
            assert files < ones.nbytes
            assert client.get(["w"])["w"][0] == -steps
        process.kill()
        process.wait()
    with running(f"--store={store}") as (address, _), Client([address]) as client:
        assert set(client.get(["w"])["w"]) == {-2}


# The end


def unfinished_put(client, end_of_stream, value=1.0):
    """Puts `w`, whose second half follows when the event is set. Returns the answer's future."""
    data = np.full(1000, value, np.float32).tobytes()
    info = messages.TensorInfo(name="w", dtype=messages.DTYPE_F32, shape=[1000])

    def requests():
        for chunk in (
            messages.TensorChunk(tensor=info, data=data[:2000]),
            messages.TensorChunk(data=data[2000:]),
        ):
            yield messages.PutParametersRequest(chunk=chunk)
            end_of_stream.wait(20)

    before = statistics(client).tensor_bytes
    answer = client._workers.stub(0).PutParameters.future(requests(), timeout=60)
    wait_until(lambda: statistics(client).tensor_bytes > before)
    return answer


def refusal(call):
    """Returns the code of a call that fails, and otherwise None."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return None


def test_a_request_under_way_is_answered_before_the_end(tmp_path):
    store = f"--store={tmp_path / 'store'}"
    with running(store) as (address, process), Client([address]) as client:
        client.put({"w": np.zeros(1000, np.float32)})
        proceed = threading.Event()
        answer = unfinished_put(client, proceed)
        process.send_signal(signal.SIGTERM)
        describe = client._workers.stub(0).Describe
        request = messages.DescribeRequest()
        wait_until(lambda: refusal(lambda: describe(request, timeout=5)) is not None)
        with grpc.insecure_channel(address) as channel:
            call = channel.unary_unary("/updraft.worker.v1.Worker/Describe")
            assert refusal(lambda: call(b"", timeout=5)) in ENDED
        assert refusal(lambda: describe(request, timeout=5)) in ENDED
        assert process.poll() is None
        proceed.set()
        answer.result(10)
        assert process.wait(10) == 0
    with running(store) as (address, _), Client([address]) as client:
        assert set(client.get(["w"])["w"]) == {1}


def test_a_request_that_hangs_is_ended(tmp_path):
    store = f"--store={tmp_path / 'store'}"
    with running(store, "--drain=1") as (address, process), Client([address]) as client:
        client.put({"w": np.zeros(1000, np.float32)})
        proceed = threading.Event()
        answer = unfinished_put(client, proceed)
        started = time.monotonic()
        end(process)
        assert 0.9 <= time.monotonic() - started < 6
        assert answer.exception(10).code() in ENDED
        proceed.set()
    with running(store) as (address, _), Client([address]) as client:
        assert set(client.get(["w"])["w"]) == {0}


@pytest.mark.parametrize("all_or_none", [False, True])
def test_steps_during_the_end(tmp_path, all_or_none):
    """Clients repeat those that a draining worker has refused. None is lost or doubled."""
    options = [f"--store={tmp_path / 'one'}", "--drain=10"]
    ones = np.ones(1000, np.float32)
    is_over = threading.Event()
    stepped, errors = [0], []

    def train(optimizer):
        try:
            while not is_over.is_set():
                with optimizer.context() as context:
                    while True:
                        try:
                            context.push({"v": ones, "w": ones})
                            assert optimizer.step(context, all_or_none=all_or_none) == 2
                            break
                        except ContextLostError:
                            continue
                stepped[0] += 1
        except Exception as error:
            errors.append(error)
            raise

    with contextlib.ExitStack() as stack:
        other, _ = stack.enter_context(running(f"--store={tmp_path / 'other'}"))
        one, process = stack.enter_context(running(*options))
        client = stack.enter_context(Client([one, other]))
        client.put({"v": 0 * ones, "w": 0 * ones})
        optimizer = client.optimizer("o", "SGD", [{"params": ["w", "v"], "lr": 1.0}])
        thread = threading.Thread(target=train, args=(optimizer,), daemon=True)
        thread.start()
        for _ in range(2):
            before = stepped[0]
            wait_until(lambda before=before: stepped[0] > before + 5 or errors)
            end(process)
            _, process = stack.enter_context(running(*options, address=one))
        is_over.set()
        thread.join()
        assert not errors
        values = client.get(["v", "w"])
        assert [set(value) for value in values.values()] == [{-stepped[0]}] * 2


# Health checks


def test_health_checks_need_no_token(tmp_path):
    access = tmp_path / "access.txt"
    access.write_text(f"token {hashlib.sha256(b'ours').hexdigest()} admin\n")
    with (
        running(f"--access={access}") as (address, process),
        Client([address], token="ours") as client,
        grpc.insecure_channel(address) as channel,
    ):
        describe = channel.unary_unary("/updraft.worker.v1.Worker/Describe")
        assert refusal(lambda: describe(b"", timeout=5)) == grpc.StatusCode.UNAUTHENTICATED
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        service = b"updraft.worker.v1.Worker"
        for request in (b"", b"\x0a" + bytes([len(service)]) + service):
            assert check(request, timeout=5) == SERVING
        assert refusal(lambda: check(b"\x0a\x01x", timeout=5)) == grpc.StatusCode.NOT_FOUND

        watched = watch(b"", timeout=30)
        assert next(watched) == SERVING
        proceed = threading.Event()
        answer = unfinished_put(client, proceed)  # the worker doesn't end before
        process.send_signal(signal.SIGTERM)
        assert list(watched_until_the_end(watched)) == [NOT_SERVING]
        try:
            assert check(b"", timeout=5) == NOT_SERVING
        except grpc.RpcError as error:
            assert error.code() in ENDED
        proceed.set()
        answer.result(10)
        assert process.wait(10) == 0


def watched_until_the_end(responses):
    try:
        yield from responses
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE


# A full disk


def test_a_full_disk_refuses_changes_until_it_has_room(tmp_path):
    """The limit on the size of files acts as a full disk: a write ends in the middle."""
    store = tmp_path / "store"
    ones = np.ones(100_000, np.float32)

    def refused(call):
        with pytest.raises(WorkersFailedError) as caught:
            call()
        assert [failure.code for failure in caught.value.failures] == ["RESOURCE_EXHAUSTED"]
        assert client.get(["w"])["w"].tolist() == [-steps] * len(ones)

    with running(f"--store={store}") as (address, process), Client([address]) as client:

        def limit(size):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

        client.put({"w": 0 * ones})
        optimizer = sgd(client)
        step(optimizer, ones)
        [journal] = store.glob("journal-*")
        steps = 1
        # Room for one record, and for a part of the next one.
        limit(journal.stat().st_size + 3 * ones.nbytes // 2)
        step(optimizer, ones)
        steps += 1
        size = journal.stat().st_size
        with optimizer.context() as context:
            context.push({"w": ones})
            for _ in range(2):
                refused(lambda: optimizer.step(context))
            refused(lambda: client.put({"w": ones}))
            assert journal.stat().st_size == size
            limit(ones.nbytes // 2)
            refused(client.take_snapshots)
            refused(lambda: optimizer.step(context))
            limit(resource.RLIM_INFINITY)
            assert optimizer.step(context) == 1  # under the same number
            steps += 1
        step(optimizer, ones)
        steps += 1
        assert client.get(["w"])["w"].tolist() == [-steps] * len(ones)
        process.kill()
        process.wait()
    with running(f"--store={store}") as (address, _), Client([address]) as client:
        assert client.get(["w"])["w"].tolist() == [-steps] * len(ones)
        step(sgd(client), ones)
        client.take_snapshots()


def test_a_disk_that_is_full_at_the_end(tmp_path):
    """The last snapshot fails, and the journal has all steps."""
    options = [f"--store={tmp_path / 'store'}"]
    ones = np.ones(100_000, np.float32)
    with running(*options) as (address, process), Client([address]) as client:
        client.put({"w": 0 * ones})
        step(sgd(client), ones)
        size = ones.nbytes // 2
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 1
    with running(*options) as (address, _), Client([address]) as client:
        assert set(client.get(["w"])["w"]) == {-1}


def test_a_disk_that_is_full_for_the_catalog(tmp_path):
    """The code of the optimizer's steps doesn't fit into the catalog, but the values fit."""
    store = tmp_path / "store"
    ones = np.ones(2, np.float32)
    with running(f"--store={store}") as (address, process), Client([address]) as client:
        client.put({"w": 0 * ones})
        client.take_snapshots()
        optimizer = sgd(client)
        step(optimizer, ones)
        size = (store / "catalog.sqlite").stat().st_size
        # First its journal doesn't fit, and then the catalog itself.
        for limit, file in ((size, "catalog.sqlite-journal`"), (size + 4096, "catalog.sqlite`")):
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            with pytest.raises(WorkersFailedError) as caught:
                client.take_snapshots()
            [failure] = caught.value.failures
            assert failure.code == "RESOURCE_EXHAUSTED"
            assert file in failure.message
        assert client.get(["w"])["w"].tolist() == [-1, -1]
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, unlimited)
        step(optimizer, ones)
        client.take_snapshots()
        step(optimizer, ones)
        process.kill()
        process.wait()
    with running(f"--store={store}") as (address, _), Client([address]) as client:
        assert client.get(["w"])["w"].tolist() == [-3, -3]


# Metrics and statistics

WATCHED = """rule Watched(lr = 1.0) {
  update(param, grad) {
    probe largest = max(grad)
    probe sizes = histogram(grad, [0.5, 3])

    next param = param - lr * grad
  }
}
"""


WRITTEN = 'updraft_snapshots_total{written="true"}'


def metrics_at(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return dict(line.rsplit(" ", 1) for line in lines)


def documented_metrics():
    """Returns the names in the table of docs/parameter-server-operation.md, and their labels."""
    text = (ROOT / "docs" / "parameter-server-operation.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| `updraft_")]
    found = re.findall(r"`(updraft_\w+)(?:\{([\w,]+)\})?`", "\n".join(rows))
    return {name: set(filter(None, labels.split(","))) for name, labels in found}


@pytest.fixture
def measured(tmp_path):
    """A worker with a store and an optimizer with probes. Yields its client and its port."""
    rule = tmp_path / "watched.upd"
    rule.write_text(WATCHED)
    port = free_port()
    options = [f"--store={tmp_path / 'store'}", "--journal=1", f"--metrics=127.0.0.1:{port}"]
    with running(*options) as (address, _), Client([address]) as client:
        client.put({"v": np.zeros(2, np.float32), "w": np.zeros(2, np.float32)})
        yield client, client.optimizer("o", rule, [{"params": ["w"], "lr": 1.0}]), port


def test_the_metrics_of_the_documentation(tmp_path, measured):
    client, optimizer, port = measured
    ones = np.ones(2, np.float32)
    with Client(client._workers.addresses) as other, contextlib.ExitStack() as stack:
        its = other.optimizer("o", tmp_path / "watched.upd", [{"params": ["w"], "lr": 1.0}])
        contexts = [stack.enter_context(each.context(7)) for each in (optimizer, its)]
        contexts.append(stack.enter_context(its.context()))
        for context in contexts:
            context.push({"w": ones})
        for _ in range(3):
            optimizer.step(contexts[0])
        client.get(["v"])
        now = metrics_at(port)
        journal = sum(path.stat().st_size for path in (tmp_path / "store").glob("journal-*"))
    expected = {
        "updraft_parameters": 2,
        "updraft_optimizers": 1,
        "updraft_contexts": 2,
        "updraft_clients": 2,
        "updraft_steps_total": 3,
        "updraft_answers": 1,
        "updraft_undecided_steps": 0,
        "updraft_unreported_probes": 0,
        "updraft_failed_handshakes_total": 0,
        "updraft_journal_bytes": journal,
        'updraft_requests_total{code="OK",method="PushGradients"}': 3,
        'updraft_requests_total{code="OK",method="OpenContext"}': 3,
        'updraft_request_seconds_count{method="CreateOptimizer"}': 2,
        'updraft_probe{optimizer="o",parameter="w",probe="largest"}': 2,
    }
    assert {name: float(now.get(name, "nan")) for name in expected} == expected
    assert journal > 0
    assert float(now["updraft_tensor_bytes"]) >= 16
    answer = statistics(client)
    assert (answer.parameters, answer.optimizers, answer.clients, answer.steps) == (2, 1, 2, 3)
    assert answer.journal_bytes == journal

    client.put({"large": np.zeros(300_000, np.float32)})  # the journal is then above 1 MiB
    wait_until(lambda: WRITTEN in metrics_at(port))
    now = metrics_at(port)
    expected = {
        WRITTEN: "1",
        "updraft_snapshot_seconds_count": "1",
        "updraft_journal_bytes": "0",
        "updraft_contexts": "0",
        "updraft_parameters": "3",
    }
    assert {name: now[name] for name in expected} == expected
    found = {}
    for series in now:
        name, _, labels = series.partition("{")
        name = re.sub(r"(_seconds)_(count|sum|bucket)$", r"\1", name)
        found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    for name, labels in documented_metrics().items():
        assert name in found
        assert labels <= found[name], name


def test_snapshots_that_a_client_requests_are_counted(measured):
    client, _, port = measured
    for written in range(1, 3):
        client.take_snapshots()
        now = metrics_at(port)
        assert now.get(WRITTEN) == str(written)
        assert now["updraft_snapshot_seconds_count"] == str(written)


def test_contexts_are_counted(measured):
    client, optimizer, port = measured
    contexts = [optimizer.context() for _ in range(10)]
    assert statistics(client).contexts == 10
    assert metrics_at(port)["updraft_contexts"] == "10"
    shared = [optimizer.context(contexts[0].number)]
    assert statistics(client).contexts == 10
    for context in contexts[:4]:
        context.close()
    assert statistics(client).contexts == 6
    for context in contexts[4:] + shared:
        context.close()
    assert statistics(client).contexts == 0
