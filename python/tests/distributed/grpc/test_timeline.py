"""The timeline of a worker: requests, steps, waits for parameters, and syncs of the store."""

import json
import threading

import numpy as np

from updraft.distributed.grpc import Client

from .conftest import running

SGD = """rule Plain(lr = 0.1) {
  update(param, grad) {
    next param = param - lr * grad
  }
}
"""
STEPS = 10


def step_often(address, rule, name, together):
    """Steps a parameter that another thread steps through another optimizer at the same time."""
    with Client([address]) as client:
        optimizer = client.optimizer(name, rule, [{"params": ["large weight"]}])
        gradient = np.ones(1 << 21, np.float32)
        for _ in range(STEPS):
            with optimizer.context() as context:
                context.push({"large weight": gradient})
                together.wait()
                optimizer.step(context)


def test_a_contended_lock_is_a_wait(tmp_path):
    rule = tmp_path / "plain.upd"
    rule.write_text(SGD)
    file = tmp_path / "worker.json"
    options = (f"--timeline={file}", f"--store={tmp_path / 'store'}")
    with running(*options) as (address, process):
        with Client([address]) as client:
            client.put({"large weight": np.ones(1 << 21, np.float32)})
        together = threading.Barrier(2)
        threads = [
            threading.Thread(target=step_often, args=(address, rule, name, together))
            for name in ("one", "other")
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        process.terminate()  # the worker then writes the file
        assert process.wait() == 0
    events = json.loads(file.read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    count = {}
    for span in spans:
        count[span["cat"], span["name"]] = count.get((span["cat"], span["name"]), 0) + 1
    assert count["rpc", "Step"] == 2 * STEPS
    assert count["rpc", "pushGradients"] == 2 * STEPS
    assert count["step", "apply Plain"] == 2 * STEPS
    assert count["lock", "wait for `large weight`"] >= 1
    assert any(category == "disk" and name.startswith("sync journal") for category, name in count)
    # A wait is part of the request that waits.
    for wait in spans:
        if wait["cat"] == "lock":
            assert any(
                rpc["tid"] == wait["tid"]
                and rpc["ts"] <= wait["ts"]
                and wait["ts"] + wait["dur"] <= rpc["ts"] + rpc["dur"] + 0.001
                for rpc in spans
                if rpc["name"] == "Step"
            )
