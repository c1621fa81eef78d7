"""Tests that need a fresh process: import order with torch and triton, lifetime, the GIL."""

import itertools
import subprocess
import sys

import pytest

USE = """
import numpy
rule = updraft.compile(
    "rule SGD(lr = 0.5) { update(param, grad) { next param = param - lr * grad } }")
weights = numpy.ones(3, dtype="float32")
updraft.ArrayOptimizer(rule, [weights]).step([numpy.ones(3, dtype="float32")])
assert weights.tolist() == [0.5] * 3
"""


@pytest.mark.parametrize(
    "order", list(itertools.permutations(["updraft", "torch", "triton._C.libtriton"])), ids="-".join
)
def test_import_order(run_python, order):
    """Both contain LLVM, and neither may see the other's symbols."""
    for module in order[:]:
        if module != "updraft":
            pytest.importorskip(module.split(".")[0])
    imports = "\n".join(f"import {module}" for module in order)
    assert run_python(f"{imports}\nimport updraft\n{USE}\nprint('done')") == "done"


def test_importing_takes_no_more_than_is_needed(run_python):
    """Tracing loads modules for source text only when a function is traced."""
    heavy = ("numpy", "torch", "inspect", "dataclasses", "dis", "linecache", "json")
    assert (
        run_python(f"""
import sys
before = set(sys.modules)
import updraft
print(sorted((set(sys.modules) - before) & {set(heavy)!r}))
""")
        == "[]"
    )


def test_both_compile_in_one_process(run_python):
    """Uses triton's LLVM at the same time as Updraft's, by lowering a kernel to PTX."""
    pytest.importorskip("triton")
    program = f"""
import updraft
{USE}
import triton, triton.language as tl
from triton.backends.compiler import GPUTarget

@triton.jit
def kernel(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) * 2)

source = triton.compiler.ASTSource(fn=kernel, signature={{"x": "*fp32", "N": "constexpr"}},
                                   constexprs={{"N": 64}})
compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
assert ".entry" in compiled.asm["ptx"]
{USE.replace("0.5", "0.25").replace("[0.25]", "[0.75]")}
print("done")
"""
    assert run_python(program) == "done"


def test_optimizer_keeps_what_it_needs(run_python):
    """Parameters, rule and states live while objects refer to them, in any order of destruction."""
    program = """
import gc, weakref, numpy, updraft

class Array(numpy.ndarray):
    pass

rule = updraft.compile(
    "rule M(lr = 0.5) { state v = 0  update(param, grad) { next v = v + grad  "
    "next param = param - lr * v } }")
weights = numpy.ones(1000, dtype="float32").view(Array)
alive = weakref.ref(weights)
optimizer = updraft.ArrayOptimizer(rule, [weights])
del rule, weights
gc.collect()
assert alive() is not None
for _ in range(3):
    optimizer.step([numpy.ones(1000, dtype="float32")])
assert alive()[0] == 1 - 0.5 * (0 + 1 + 2)
state = optimizer.state(0)["v"]
del optimizer
gc.collect()
junk = [numpy.zeros(1000, dtype="float32") for _ in range(100)]
assert state.tolist() == [3.0] * 1000
del state
gc.collect()
assert alive() is None
print("done")
"""
    assert run_python(program) == "done"


def test_nothing_leaks(run_python):
    program = """
import gc, resource, numpy, updraft
rule = updraft.compile(
    "rule M(lr = 0.5) { state v = 0  update(param, grad) { next v = v + grad  "
    "next param = param - lr * v } }")
def once():
    weights = numpy.ones(250_000, dtype="float32")
    updraft.ArrayOptimizer(rule, [weights]).step([numpy.ones(250_000, dtype="float32")])
for _ in range(20): once()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(200): once()
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert grown < 20_000, f"{grown} KiB"
print("done")
"""
    assert run_python(program) == "done"


def test_step_releases_the_gil(run_python):
    """A Python thread continues while a long step runs in another."""
    program = """
import os
os.environ["UPDRAFT_NUM_THREADS"] = "1"
import threading, time, numpy, updraft

# Slow on purpose: many square roots per element.
lines = "".join(f"let x{i + 1} = sqrt(1 + x{i} * x{i})  " for i in range(60))
rule = updraft.compile(
    "rule Slow(lr = 0) { update(param, grad) { let x0 = grad  " + lines
    + "next param = param - lr * x60 } }", storage={"param": "f64", "grad": "f64"})
weights, grad = numpy.zeros(4_000_000), numpy.zeros(4_000_000)
optimizer = updraft.ArrayOptimizer(rule, [weights])

done = threading.Event()
ticks = 0

def tick():
    global ticks
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)

ticker = threading.Thread(target=tick)
ticker.start()
started, before = time.perf_counter(), ticks
optimizer.step([grad])
seconds, counted = time.perf_counter() - started, ticks - before
done.set()
ticker.join()
assert seconds > 0.05, f"the step took {seconds} s, too short to tell"
assert counted >= 10, f"{counted} ticks in a step of {seconds} s"
print("done")
"""
    assert run_python(program) == "done"


def test_two_threads_step_one_optimizer(run_python):
    """Concurrent steps of one optimizer wait for each other."""
    program = """
import threading, numpy, updraft
rule = updraft.compile(
    "rule SGD(lr = 1) { update(param, grad) { next param = param - lr * grad } }")
weights = numpy.zeros(100_000, dtype="float32")
optimizer = updraft.ArrayOptimizer(rule, [weights])
grad = numpy.ones_like(weights)
def work():
    for _ in range(100):
        optimizer.step([grad])
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert (weights == -400).all()
assert optimizer.step_count(0) == 400
print("done")
"""
    assert run_python(program) == "done"


def test_leaks_at_exit_are_not_reported():
    program = f"""
import ctypes, updraft
{USE}
ctypes.pythonapi.Py_IncRef(ctypes.py_object(rule))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


DAEMON = """
import threading, time, numpy, updraft
rule = updraft.compile("rule M(lr = 0.1) { update(param, grad) { next param = grad } }")
weights, grad = numpy.ones(5_000_000, dtype="float32"), numpy.ones(5_000_000, dtype="float32")
optimizer = updraft.ArrayOptimizer(rule, [weights])
def step():
    while True:
        optimizer.step([grad])
# Takes long enough for Python to end meanwhile.
LONG = "let x0 = param " + " ".join(f"let x{i} = pow(x{i - 1} + {i}, grad)" for i in range(1, 60))
def compile():
    for i in range(10**9):
        updraft.compile(f"rule M(lr = {i}) {{ update(param, grad) {{ {LONG} next param = x59 }} }}",
                        cache_dir="")
def fail():
    while True:
        try:
            optimizer.step([])
        except updraft.UpdraftError:
            pass
for work in WORK:
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""


@pytest.mark.parametrize("work", ["[step]", "[compile]", "[step, compile, fail]"])
def test_daemon_threads_end_quietly_with_the_process(work):
    for _ in range(10):
        ended = subprocess.run(
            [sys.executable, "-c", DAEMON.replace("WORK", work)],
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert (ended.returncode, ended.stderr) == (0, "")


def test_subinterpreters_are_refused(run_python):
    program = """
try:
    import _interpreters as interpreters
    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters
    run = interpreters.run_string
MAIN_FIRST
run(interpreters.create(), '''
try:
    import updraft
except ImportError as error:
    print(error, flush=True)
''')
import updraft
updraft.compile("rule M(lr = 0.1) { update(param, grad) { next param = grad } }")
"""
    message = (
        "updraft supports only the main interpreter of a process, but is imported in a "
        "subinterpreter; use `multiprocessing` for another process"
    )
    assert run_python(program.replace("MAIN_FIRST", "")) == message
    assert run_python(program.replace("MAIN_FIRST", "import updraft")) == message
