"""Requests beyond a worker's limits, and streams that don't come whole."""

import threading

import grpc
import numpy as np
import pytest

from updraft.distributed.grpc import Client, Rows, WorkersFailedError
from updraft.worker.v1 import worker_pb2 as messages

from .conftest import running, statistics, wait_until

EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED
MIB = 1 << 20


def tensor_bytes(client):
    return statistics(client).tensor_bytes


def refusal(call):
    """Returns the code and the message of a call that fails."""
    with pytest.raises((WorkersFailedError, grpc.RpcError)) as caught:
        call()
    if isinstance(caught.value, grpc.RpcError):
        return caught.value.code(), caught.value.details()
    [failure] = caught.value.failures
    return grpc.StatusCode[failure.code], failure.message


@pytest.fixture(scope="module")
def address():
    """A worker with small limits."""
    limits = ["--memory=0.008", "--client-memory=0.001", "--client-requests=2"]
    with running(*limits) as (address, _):
        yield address


@pytest.fixture
def client(address):
    """A client whose parameters have their first values."""
    with Client([address]) as client:
        zeros = np.zeros(1000, np.float32)
        client.put({"table": np.zeros((300, 1000), np.float32), "v": zeros, "w": zeros})
        yield client


@pytest.fixture
def optimizer(client):
    return client.optimizer("o", "AdamW", [{"params": ["table", "v", "w"], "lr": 0.1}])


def is_serving(client, optimizer):
    """Whether a step applies exactly one gradient."""
    before = client.get(["w"])["w"][0]
    with optimizer.context() as context:
        context.push({"w": np.ones(1000, np.float32)})
        stepped = optimizer.step(context)
    return stepped == 1 and client.get(["w"])["w"][0] < before


def test_a_clients_memory(address, client, optimizer):
    gradient = np.ones((300, 1000), np.float32)
    before = tensor_bytes(client)
    with optimizer.context() as context:
        code, message = refusal(lambda: context.push({"table": gradient}))
        assert code == EXHAUSTED
        assert client.name in message
    with optimizer.context() as context:
        context.push({"table": Rows(range(200), gradient[:200])})
        code, _ = refusal(lambda: context.push({"table": Rows(range(100), gradient[:100])}))
        assert code == EXHAUSTED
        with Client([address]) as other:  # has memory of its own
            its = other.optimizer("o", "AdamW", [{"params": ["table", "v", "w"], "lr": 0.1}])
            with its.context(context.number) as same:
                same.push({"table": Rows(range(200), gradient[:200])})
    wait_until(lambda: tensor_bytes(client) == before)
    assert is_serving(client, optimizer)


def test_the_workers_memory(client, optimizer):
    before = tensor_bytes(client)
    large = np.zeros(3 * MIB, np.float32)
    code, message = refusal(lambda: client.put({"v": np.ones(1000, np.float32), "large": large}))
    assert code == EXHAUSTED
    assert "the worker" in message
    wait_until(lambda: tensor_bytes(client) == before)
    names = client._workers.stub(0).ListParameters(messages.ListParametersRequest()).parameters
    assert [each.tensor.name for each in names] == ["table", "v", "w"]
    assert is_serving(client, optimizer)


class Stream:
    """Requests of a stream that doesn't end before it is told to."""

    def __init__(self, requests):
        self.requests = requests
        self.proceed = threading.Event()

    def __iter__(self):
        yield from self.requests
        self.proceed.wait(30)


def chunk(name, values, length=None):
    """The first part of a tensor."""
    info = messages.TensorInfo(name=name, dtype=messages.DTYPE_F32, shape=values.shape)
    return messages.TensorChunk(tensor=info, data=values.tobytes()[:length])


def push_of(context, chunks):
    """The requests of a push. Each has a new number."""
    client = context._optimizer._lease.name
    number = context._sequences.next()
    request = messages.RequestId(client=client, sequence=number)
    first = messages.PushGradientsRequest(context=context._id, request=request)
    return [first, *(messages.PushGradientsRequest(chunk=each) for each in chunks)]


def test_requests_of_a_client_at_the_same_time(address, client, optimizer):
    ones = np.ones(1000, np.float32)
    before = client.get(["w"])["w"]
    with optimizer.context() as context:
        used = tensor_bytes(client)
        stub = client._workers.stub(0)
        streams = [Stream(push_of(context, [chunk("w", ones)])) for _ in range(2)]
        answers = [stub.PushGradients.future(iter(each), timeout=30) for each in streams]
        wait_until(lambda: tensor_bytes(client) >= used + 2 * ones.nbytes)
        code, message = refusal(lambda: context.push({"w": ones}))
        assert code == EXHAUSTED
        assert "2 requests under way" in message
        assert refusal(lambda: optimizer.step(context))[0] == EXHAUSTED
        with Client([address]) as other:
            its = other.optimizer("o", "AdamW", [{"params": ["table", "v", "w"], "lr": 0.1}])
            with its.context() as free:
                free.push({"v": ones})
        for each in streams:
            each.proceed.set()
        for each in answers:
            each.result(30)
        context.push({"w": ones})
        assert optimizer.step(context) == 1
    assert (client.get(["w"])["w"] != before).all()


def test_messages_above_4_mib(address, client, optimizer):
    def put(length):
        values = np.zeros(length // 4, np.float32)
        request = messages.PutParametersRequest(chunk=chunk("large", values))
        stub.PutParameters(iter([request]), timeout=30)

    def push(context, length):
        requests = push_of(context, [messages.TensorChunk(data=bytes(length))])
        stub.PushGradients(iter(requests), timeout=30)

    stub = client._workers.stub(0)
    assert refusal(lambda: put(5 * MIB))[0] == EXHAUSTED
    with optimizer.context() as context:
        assert refusal(lambda: push(context, 5 * MIB))[0] == EXHAUSTED
    with grpc.insecure_channel(address) as channel:
        for method in ("Step", "GetParameters", "Describe", "CreateOptimizer"):
            call = channel.unary_unary(f"/updraft.worker.v1.Worker/{method}")
            assert refusal(lambda call=call: call(bytes(5 * MIB), timeout=30))[0] == EXHAUSTED
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        assert refusal(lambda: check(bytes(5 * MIB), timeout=30))[0] == EXHAUSTED
    largest = stub.Describe(messages.DescribeRequest()).largest_message_bytes
    assert largest == 4 * MIB
    assert is_serving(client, optimizer)


# Streams that don't come whole


@pytest.fixture(params=["cancel", "deadline"])
def interrupt(request):
    """Sends requests whose stream the client cancels, or whose deadline passes in the middle."""

    def send(method, requests, has_arrived):
        stream = Stream(requests)
        seconds = 30 if request.param == "cancel" else 0.3
        answer = method.future(iter(stream), timeout=seconds)
        wait_until(lambda: has_arrived() or answer.done())
        if request.param == "cancel":
            answer.cancel()
            with pytest.raises(grpc.FutureCancelledError):
                answer.result(30)
        else:
            assert answer.exception(30).code() == grpc.StatusCode.DEADLINE_EXCEEDED
        stream.proceed.set()

    return send


def test_an_interrupted_put_writes_whole_parameters_only(client, interrupt):
    ones = np.ones(1000, np.float32)
    stub = client._workers.stub(0)
    used = tensor_bytes(client)
    for last in ("w", "new"):
        requests = [
            messages.PutParametersRequest(chunk=each)
            for each in (chunk("v", ones), chunk(last, ones, 3000))
        ]
        interrupt(stub.PutParameters, requests, lambda: tensor_bytes(client) > used)
        wait_until(lambda: tensor_bytes(client) == used)
    values = client.get(["v", "w"])
    assert set(values["v"]) in ({0}, {1})
    assert set(values["w"]) == {0}
    names = stub.ListParameters(messages.ListParametersRequest()).parameters
    assert [each.tensor.name for each in names] == ["table", "v", "w"]


def states_of(client):
    """Returns the file of an optimizer's states."""
    answers = client._workers.stub(0).GetStates(messages.GetStatesRequest(optimizer="o"))
    return b"".join(answer.data for answer in answers)


@pytest.mark.parametrize("part", ["half", "all"])
def test_interrupted_states_change_nothing(client, optimizer, interrupt, part):
    """Also if the worker has the whole file: the client hasn't ended the stream."""
    is_serving(client, optimizer)
    file = states_of(client)
    is_serving(client, optimizer)
    later = states_of(client)
    assert later != file
    used = tensor_bytes(client)
    length = len(file) if part == "all" else len(file) // 2
    requests = [
        messages.PutStatesRequest(
            optimizer="" if begin else "o",
            chunk=messages.StatesChunk(data=file[begin : min(begin + MIB // 4, length)]),
        )
        for begin in range(0, length, MIB // 4)
    ]
    stub = client._workers.stub(0)
    interrupt(stub.PutStates, requests, lambda: tensor_bytes(client) >= used + length)
    wait_until(lambda: tensor_bytes(client) == used)
    assert states_of(client) == later
    if part == "all":
        stub.PutStates(iter(requests), timeout=30)
        assert states_of(client) == file


def test_interrupted_pushes_add_nothing(client, optimizer, interrupt):
    ones = np.ones(1000, np.float32)
    stub = client._workers.stub(0)
    with optimizer.context() as context:
        used = tensor_bytes(client)
        for chunks in ([chunk("w", ones)], [chunk("w", ones), chunk("v", ones, 3000)]):
            requests = push_of(context, chunks)
            interrupt(stub.PushGradients, requests, lambda: tensor_bytes(client) > used)
            wait_until(lambda: tensor_bytes(client) == used)
        assert optimizer.step(context) == 0


def test_many_cancelled_pushes_add_nothing(client, optimizer):
    """Each has come whole but for its end. The last one is repeated under its number."""
    ones = np.ones(1000, np.float32)
    stub = client._workers.stub(0)
    with optimizer.context() as empty, optimizer.context() as context:
        used = tensor_bytes(client)
        for number in range(100):
            requests = push_of(empty if number < 99 else context, [chunk("w", ones)])
            stream = Stream(requests)
            answer = stub.PushGradients.future(iter(stream), timeout=30)
            if number % 2:
                wait_until(lambda: tensor_bytes(client) > used)
            answer.cancel()
            stream.proceed.set()
            wait_until(lambda: tensor_bytes(client) == used)
        assert optimizer.step(empty) == 0
        stub.PushGradients(iter(requests), timeout=30)
        assert optimizer.step(context) == 1
