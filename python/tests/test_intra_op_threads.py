"""Steps run on torch's threads, and on as many as torch is set to use."""

import pytest
import torch

PROGRAM = """
import os, pathlib, sys
import torch
from updraft import optim

ELEMENTS = 2_000_000
params = [torch.nn.Parameter(torch.ones(ELEMENTS)) for _ in range(2)]
for param in params:
    param.grad = torch.ones(ELEMENTS)
optimizer = optim.AdamW(params)
others = torch.ones(8 * ELEMENTS), torch.ones(8 * ELEMENTS)


def time_of_threads():
    "Nanoseconds on a processor of each thread."
    threads = {}
    for thread in pathlib.Path("/proc/self/task").iterdir():
        threads[thread.name] = int((thread / "schedstat").read_text().split()[0])
    return threads


def working(function):
    "The threads that do a good part of the work of a function."
    function()
    before = time_of_threads()
    for _ in range(20):
        function()
    after = time_of_threads()
    grown = {name: time - before.get(name, 0) for name, time in after.items()}
    return {name for name, time in grown.items() if time > max(grown.values()) / 5}


for count in COUNTS:
    torch.set_num_threads(count)
    stepping = working(optimizer.step)
    assert len(stepping) == count, (count, stepping)
    assert str(os.getpid()) in stepping
    # The same that torch itself works with.
    assert stepping == working(lambda: torch.add(*others, out=others[0])), count
print("done")
"""


@pytest.mark.parametrize("counts", [(1, 2, 1), (2, 1)], ids=str)
def test_steps_use_as_many_threads_as_torch(run_python, monkeypatch, counts):
    # A thread that waits for others must not count as working.
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    if "OpenMP" not in torch.__config__.parallel_info():
        pytest.skip("this torch has no threads of OpenMP")
    assert run_python(f"COUNTS = {counts}\n{PROGRAM}") == "done"
