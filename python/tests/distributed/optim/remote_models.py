"""Functions that tests run on workers."""

import contextlib
import ctypes
import os
import threading
import traceback

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc

from updraft.optim.adapter import StorageLocks


def parameter(seed, *shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(seed)
    return torch.nn.Parameter(torch.randn(shape, generator=generator).to(dtype))


def parameters(worker, *shapes, **options):
    """References to parameters that a worker creates, after they exist there."""
    rrefs = [
        rpc.remote(worker, parameter, args=(seed, *shape), kwargs=options)
        for seed, shape in enumerate(shapes)
    ]
    for rref in rrefs:
        rref.to_here()
    return rrefs


@contextlib.contextmanager
def ending(worker):
    """Ends a worker's process, a child of this one, within the block; returns after it has ended.

    Others may see its connections close before it has ended; see `World.alive`.
    """
    process = rpc.rpc_sync(worker, os.getpid)
    yield
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)


def loss(rrefs, factor):
    """Returns a loss with a different gradient for each element, and a gradient for `factor`."""
    total = 0
    for rref in rrefs:
        param = rref.local_value()
        values = torch.linspace(-1, 1, param.numel(), dtype=param.dtype).view_as(param)
        total = total + (param * values).sum().float()
    return total * factor


def loss_that_reads(rrefs, factor):
    """Returns a loss whose backward pass reads the parameters."""
    return sum((rref.local_value() ** 2).sum() for rref in rrefs) * factor


def ones(rrefs, factor):
    """Returns a loss with the gradient `factor` for every element of a parameter."""
    return sum(rref.local_value().sum() for rref in rrefs) * factor


def backward(context, rrefs, factor=1.0, of=loss):
    """Computes gradients of parameters, on all of their workers at once."""
    factor = torch.tensor(float(factor), requires_grad=True)
    by_owner = {}
    for rref in rrefs:
        by_owner.setdefault(rref.owner_name(), []).append(rref)
    results = [rpc.rpc_sync(name, of, args=(some, factor)) for name, some in by_owner.items()]
    dist_autograd.backward(context, [sum(results)])


def gradient(context, rref):
    return dist_autograd.get_gradients(context)[rref.local_value()]


def gradients(context, rrefs):
    return [rpc.rpc_sync(rref.owner(), gradient, args=(context, rref)) for rref in rrefs]


def fill(rref, value):
    with torch.no_grad():
        rref.local_value().fill_(value)


def move(rref):
    """Gives a parameter other memory."""
    param = rref.local_value()
    param.data = param.data.clone()


def attributes(rref):
    """The gradient and the version of a parameter."""
    param = rref.local_value()
    return param.grad, param._version


def set_grad(rref, grad):
    rref.local_value().grad = grad


_touched = []


def touch_and_hold(context, rrefs, seconds):
    """Makes Python hold every parameter and gradient, then holds the GIL."""
    held = dist_autograd.get_gradients(context)
    _touched.extend(held[rref.local_value()] for rref in rrefs)
    ctypes.PyDLL(None).usleep(int(seconds * 1e6))
    _touched.clear()


_given_up = threading.Event()


def hold_locks(rref):
    """Blocks steps of a parameter, from its return until the locks are released."""
    taken = threading.Event()

    def hold():
        locks = StorageLocks([rref.local_value()])
        locks.lock()
        taken.set()
        _given_up.wait()
        locks.unlock()

    _given_up.clear()
    threading.Thread(target=hold, daemon=True).start()
    taken.wait()


def give_up_locks():
    _given_up.set()


def in_threads(count, body):
    """Runs body(i) in threads; returns the tracebacks of their exceptions."""
    errors = []

    def run(number):
        try:
            body(number)
        except Exception:
            errors.append(traceback.format_exc())

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def open_contexts():
    return int(dist_autograd._get_debug_info()["num_autograd_contexts"])


def copies(rrefs):
    """Local parameters with the values of those on workers."""
    return [torch.nn.Parameter(rref.to_here().detach().clone()) for rref in rrefs]


def step_both(optimizer, local, rrefs, params, factor=1):
    """Steps with the workers' gradients, and a local optimizer with the same gradients."""
    with dist_autograd.context() as context:
        backward(context, rrefs, factor)
        for param, grad in zip(params, gradients(context, rrefs), strict=True):
            param.grad = grad
        optimizer.step(context)
    local.step()
