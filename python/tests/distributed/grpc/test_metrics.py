"""Metrics of a worker, as Prometheus reads them."""

import contextlib
import socket
import urllib.request

import numpy as np

from updraft.distributed.grpc import Client

from .conftest import running

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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with running(f"--metrics=127.0.0.1:{port}") as (address, _), Client([address]) as client:
        yield client, port


def metrics_at(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return dict(line.rsplit(" ", 1) for line in lines)


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
