"""The time of compiling and of steps: medians, with the peers interleaved in one run."""

import statistics
import subprocess
import sys
import tempfile
import time

import torch
import training

import updraft
import updraft.optim

# Runs in a separate process: the first compilation also initializes the compiler.
FIRST = """
import sys, time, updraft
started = time.perf_counter()
rule = updraft.compile_file(sys.argv[1], cache_dir=sys.argv[2])
print(time.perf_counter() - started, rule.origin)
"""


def first_in_a_process(rule_file, cache_dir, origin):
    """Returns the seconds of the first compilation in a fresh process."""
    command = [sys.executable, "-c", FIRST, str(rule_file), cache_dir]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, found = output.split()
    if found != origin:
        raise RuntimeError(f"the rule came from `{found}`, not from `{origin}`")
    return float(seconds)


def compile_times(rule_file, rounds):
    """Returns seconds by name: first in a process, next, and from the disk."""
    processes = min(rounds, 7)
    times = {
        "first in a fresh process": statistics.median(
            first_in_a_process(rule_file, "", "compiled") for _ in range(processes)
        )
    }
    next_ones = []
    for round_number in range(rounds):
        # Another default makes another rule, so the memory cache doesn't have it.
        default = {"lr": 1e-3 + 1e-6 * (round_number + 1)}
        started = time.perf_counter()
        rule = updraft.compile_file(rule_file, defaults=default, cache_dir="")
        next_ones.append(time.perf_counter() - started)
        if rule.origin != "compiled":
            raise RuntimeError(f"the rule came from `{rule.origin}`")
    times["next in the same process"] = statistics.median(next_ones)
    with tempfile.TemporaryDirectory() as cache:
        first_in_a_process(rule_file, cache, "compiled")
        times["from the disk cache, in a fresh process"] = statistics.median(
            first_in_a_process(rule_file, cache, "disk") for _ in range(processes)
        )
    return times


# A pause between measurements, so that no thread of the last one is still spinning.
REST = 0.003


def interleaved(ours, theirs, rounds):
    """Returns the median seconds of two functions, called in turn."""
    samples = ([], [])
    for function in (ours, theirs):
        function()
        function()
    for _ in range(rounds):
        for function, times in zip((ours, theirs), samples, strict=True):
            time.sleep(REST)
            started = time.perf_counter()
            function()
            times.append(time.perf_counter() - started)
    return tuple(statistics.median(times) for times in samples)


def compare_steps(make_params, rounds):
    """Returns the median seconds of a step: updraft.optim's AdamW, torch's fused one."""
    our_params, their_params = make_params(), make_params()
    for param in (*our_params, *their_params):
        param.grad = torch.full_like(param, 1e-3)
    optimizer = updraft.optim.AdamW(our_params)
    reference = torch.optim.AdamW(their_params, fused=True)
    return interleaved(optimizer.step, reference.step, rounds)


def step_times(elements, rounds):
    """Returns rows of (parameters, Updraft's seconds, torch's seconds)."""

    def network():
        return list(training.make_network().parameters())

    def one_tensor():
        return [torch.nn.Parameter(torch.ones(elements))]

    count = sum(param.numel() for param in network())
    return [
        (f"the network's: {len(network())} tensors, {count:,}", *compare_steps(network, 300)),
        (f"one tensor of {elements:,}", *compare_steps(one_tensor, rounds)),
    ]
