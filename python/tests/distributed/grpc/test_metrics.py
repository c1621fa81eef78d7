"""Metrics of a worker, as Prometheus reads them."""

import contextlib
import time
import urllib.request

import numpy as np
import pytest

from updraft.distributed.grpc import Client, WorkersFailedError

from .conftest import free_port, running

WATCHED = """rule Watched(lr = 0.1) {
  update(param, grad) {
    probe largest = max(grad)
    probe total = sum(new_param)

    next param = param - lr * grad
  }
}
"""


@contextlib.contextmanager
def client_and_metrics():
    """Yields a client of a worker, and the port of the worker's metrics."""
    port = free_port()
    with running(f"--metrics=127.0.0.1:{port}") as (address, _), Client([address]) as client:
        yield client, port


def metrics_at(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return dict(line.rsplit(" ", 1) for line in lines)


STEPS = 'updraft_request_seconds_count{method="Step"}'


def test_steps_are_counted_by_their_codes():
    ones = {"w": np.ones(2, np.float32)}
    with client_and_metrics() as (client, port):
        client.put(ones)
        optimizer = client.optimizer("o", "SGD", [{"params": ["w"], "lr": 1.0}])
        client.get(["w"])
        with optimizer.context() as context:
            context.push(ones)
            assert [optimizer.step(context), optimizer.step(context)] == [1, 1]
            with pytest.raises(WorkersFailedError, match="version 3"):
                optimizer.step(context, max_age=0)  # of the parameter before both steps
        end = time.monotonic() + 10  # a step is counted once its answer was sent
        while metrics_at(port).get(STEPS) != "3":
            assert time.monotonic() < end
        counts = metrics_at(port)  # again, because a code is read before the number of steps
    assert counts['updraft_requests_total{code="OK",method="Step"}'] == "2"
    assert counts['updraft_requests_total{code="FAILED_PRECONDITION",method="Step"}'] == "1"


HISTOGRAM = WATCHED.replace("probe largest = max(grad)", "probe sizes = histogram(grad, [0.5, 3])")


def test_a_histogram_has_a_gauge_for_each_bound(tmp_path):
    rule = tmp_path / "watched.upd"
    rule.write_text(HISTOGRAM)
    with client_and_metrics() as (client, port):
        client.put({"w": np.ones(4, np.float32)})
        optimizer = client.optimizer("o", rule, [{"params": ["w"], "lr": 0.5}])
        with optimizer.context() as context:
            context.push({"w": np.array([0, 1, 2, np.inf], np.float32)})
            optimizer.step(context)
        found = {name: value for name, value in metrics_at(port).items() if "bucket{opt" in name}
    series = 'updraft_probe_bucket{optimizer="o",parameter="w",probe="sizes",le="%s"}'
    assert found == {series % "0.5": "1", series % "3": "3", series % "+Inf": "4"}


def test_probes_are_gauges(tmp_path):
    rule = tmp_path / "watched.upd"
    rule.write_text(WATCHED)
    with client_and_metrics() as (client, port):
        client.put({"w": np.ones(2, np.float32), "v": np.ones(3, np.float32)})
        optimizer = client.optimizer("o", rule, [{"params": ["w", "v"], "lr": 0.5}])
        assert not any("probe" in name for name in metrics_at(port))
        for gradient in (2, 4):
            with optimizer.context() as context:
                context.push({"w": np.array([gradient, 0], np.float32)})
                optimizer.step(context)
        found = {name: value for name, value in metrics_at(port).items() if "probe" in name}
    assert found == {
        'updraft_probe{optimizer="o",parameter="w",probe="largest"}': "4",
        'updraft_probe{optimizer="o",parameter="w",probe="total"}': "-1",
        "updraft_unreported_probes": "0",
    }
