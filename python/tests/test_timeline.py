"""Timelines: the spans of steps in a file, and the errors of recording."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import updraft

CLIPPED = """
rule Clipped(lr = 0.1) {
  update(param, grad) {
    let scale = 1 / max(1, norm(grad))
    next param = param - lr * scale * grad
  }
}
"""

# So many that both threads have part in a sweep, even if other processes delay one of them.
STEPS = 200

TWO_THREADS = f"""
import sys, numpy as np, updraft
rule = updraft.compile('''{CLIPPED}''')
param = np.ones(1 << 22, np.float32)
grad = np.ones_like(param)
optimizer = updraft.ArrayOptimizer(rule, [param])
optimizer.step([grad])
with updraft.timeline(sys.argv[1]):
    for _ in range({STEPS}):
        optimizer.step([grad])
"""


def spans_of(path):
    """Returns the spans of each thread, in the order of the file."""
    threads = {}
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "X":
            threads.setdefault(event["tid"], []).append(event)
    return threads


def require_nesting(spans):
    """Each span of a thread begins after the one before it, and ends before those around it."""
    around = []
    for span in spans:
        begin, end = span["ts"], span["ts"] + span["dur"]
        while around and around[-1] <= begin + 0.0005:
            around.pop()
        assert not around or end <= around[-1] + 0.0005, span
        around.append(end)


def an_optimizer(size=10):
    param = np.ones(size, np.float32)
    return updraft.ArrayOptimizer(updraft.compile(CLIPPED), [param]), np.ones_like(param)


def test_a_step_has_its_sweeps_in_it(tmp_path):
    optimizer, grad = an_optimizer()
    with updraft.timeline(tmp_path / "steps.json"):
        optimizer.step([grad])
    (spans,) = spans_of(tmp_path / "steps.json").values()
    require_nesting(spans)
    names = [span["name"] for span in spans]
    assert [name for name in names if "sweep" in name] == ["Clipped_sweep0", "Clipped_sweep1"]
    assert names.index("apply Clipped") < names.index("Clipped_sweep0")


def test_two_threads_show_sweeps_and_waits(tmp_path):
    path = tmp_path / "steps.json"
    environment = os.environ | {"UPDRAFT_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", TWO_THREADS, str(path)], check=True, env=environment)
    threads = spans_of(path)
    for spans in threads.values():
        require_nesting(spans)
    assert len(threads) == 2
    for spans in threads.values():
        assert {"Clipped_sweep0", "Clipped_sweep1"} <= {span["name"] for span in spans}
    (caller,) = [spans for spans in threads.values() if spans[0]["cat"] == "step"]
    (other,) = [spans for spans in threads.values() if spans is not caller]
    waits = [span for span in caller if span["name"] == "wait for threads"]
    assert len(waits) >= 2 * STEPS  # after each sweep
    assert any(span["name"] == "wait for work" for span in other)
    done = sum(
        span["args"]["elements"]
        for spans in threads.values()
        for span in spans
        if span["name"] == "Clipped_sweep1"
    )
    assert done == STEPS << 22


def test_spans_of_the_program(tmp_path):
    recording = updraft.timeline(tmp_path / "steps.json")
    with recording, updraft.timeline_span("outer"), updraft.timeline_span("inner"):
        pass
    with updraft.timeline_span("not recorded"):
        pass
    (spans,) = spans_of(tmp_path / "steps.json").values()
    assert [span["name"] for span in spans] == ["outer", "inner"]


def test_the_file_is_written_if_the_block_raises(tmp_path):
    optimizer, grad = an_optimizer()
    with pytest.raises(KeyError), updraft.timeline(tmp_path / "steps.json"):
        optimizer.step([grad])
        raise KeyError
    assert spans_of(tmp_path / "steps.json")


def test_recording_twice_is_an_error(tmp_path):
    with updraft.timeline(tmp_path / "steps.json"):
        other = updraft.timeline(tmp_path / "other.json")
        with pytest.raises(updraft.InvalidArgumentError, match="a timeline is recorded already"):
            other.__enter__()
    assert (tmp_path / "steps.json").exists()
    assert not (tmp_path / "other.json").exists()


def test_a_file_that_cannot_be_written_is_an_error_and_ends_the_recording(tmp_path):
    recording = updraft.timeline(tmp_path / "none" / "steps.json")
    message = r"cannot write the timeline `.*none/steps.json`"
    with pytest.raises(updraft.FileError, match=message), recording:
        pass
    with updraft.timeline(tmp_path / "steps.json"):
        pass


def test_a_forked_child_has_no_spans_of_its_parent(tmp_path):
    optimizer, grad = an_optimizer()
    with updraft.timeline(tmp_path / "steps.json"):
        optimizer.step([grad])
        child = os.fork()
        if child == 0:
            try:  # the child isn't recording, so that it can start
                with updraft.timeline(tmp_path / "child.json"):
                    pass
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    assert spans_of(tmp_path / "steps.json")
    assert not spans_of(tmp_path / "child.json")


def test_a_step_of_torch_has_both_halves_in_it(tmp_path):
    torch = pytest.importorskip("torch")
    optim = pytest.importorskip("updraft.optim")
    parameters = [torch.nn.Parameter(torch.ones(10)) for _ in range(2)]
    optimizer = optim.AdamW([{"params": [parameter]} for parameter in parameters])
    for parameter in parameters:
        parameter.grad = torch.ones(10)
    optimizer.step()
    with updraft.timeline(tmp_path / "steps.json"):
        optimizer.step()
    (spans,) = spans_of(tmp_path / "steps.json").values()
    require_nesting(spans)
    steps = [span["name"] for span in spans if span["cat"] == "step"]
    assert steps == ["step"] + ["prepare AdamW"] * 2 + ["apply AdamW"] * 2
