"""Steps optimizers of torch and of updraft on command, for updraft-bench.

Reads one command a line from the standard input and answers each with one line, `ok [RESULT]` or
`error TEXT`:

    hello
    make OPTIMIZER IMPL GRADS DTYPE TENSORS ELEMENTS JSON   -> a number for `run`, or `none`
    sparse OPTIMIZER ROWS COLUMNS LISTED LISTS JSON         -> a number for `run`
    limit LIBRARY                                           -> a number for `run`
    run NUMBER COUNT                                        -> seconds per step
    drop

IMPL is an implementation of torch.optim, `compile` (its foreach one through torch.compile) or
`updraft`. GRADS is `persistent`, or `fresh`: each step has gradients in new memory, from a backward
that is not timed. `limit` is the limit of the memory of what was made last.
"""

import ctypes
import json
import sys
import time

import torch

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
IMPLEMENTATIONS = {
    "for-loop": {"foreach": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
    "compile": {"foreach": True},
    "updraft": {},
}
# How often torch's slower implementations are repeated is not worth minutes of waiting.
MAX_SECONDS = 2.0


class Dense:
    """An optimizer on tensors of one size; it has taken two steps."""

    def __init__(self, optimizer_class, implementation, fresh, dtype, tensors, elements, arguments):
        generator = torch.Generator().manual_seed(0)
        self.params = [
            torch.rand(elements, generator=generator).to(dtype).requires_grad_()
            for _ in range(tensors)
        ]
        self.factor = torch.tensor(1e-2, dtype=dtype)
        self.upstream = [torch.rand(elements, generator=generator).to(dtype)] * tensors
        self.backward()
        self.fresh = fresh
        self.optimizer = optimizer_class(self.params, **arguments)
        self.step = self.optimizer.step
        if implementation == "compile":
            torch._dynamo.reset()
            self.step = torch.compile(self.step)
        self.step()
        self.step()

    def backward(self):
        """Gives every parameter a gradient in new memory: that of a sum of products."""
        for param in self.params:
            param.grad = None
        torch.autograd.backward([param * self.factor for param in self.params], self.upstream)


class Sparse:
    """An optimizer on gradients of some rows, coalesced; another list of rows in every step."""

    def __init__(self, optimizer, rows, columns, listed, lists, arguments):
        generator = torch.Generator().manual_seed(0)
        self.param = torch.rand(rows, columns, generator=generator).requires_grad_()
        self.optimizer = getattr(torch.optim, optimizer)([self.param], **arguments)
        values = torch.rand(listed, columns, generator=generator) * 1e-2
        self.grads = []
        for _ in range(lists):
            indices = torch.randperm(rows, generator=generator)[:listed].sort()[0]
            grad = torch.sparse_coo_tensor(
                indices[None], values, (rows, columns), is_coalesced=True, check_invariants=False
            )
            self.grads.append(grad)
        self.next = 0
        self.fresh = False
        self.step()

    def step(self):
        self.param.grad = self.grads[self.next]
        self.next = (self.next + 1) % len(self.grads)
        self.optimizer.step()


class Limit:
    """An in-place kernel over the memory of a step with one parameter."""

    def __init__(self, library, stepped):
        (param,) = stepped.params
        states = [
            state
            for state in stepped.optimizer.state[param].values()
            if isinstance(state, torch.Tensor) and state.shape == param.shape
        ]
        streams = [param.grad, param.detach(), *states]
        self.kept = streams
        self.fresh = False
        written = [False] + [True] * (len(streams) - 1)
        self.arguments = (
            (ctypes.c_void_p * len(streams))(*[stream.data_ptr() for stream in streams]),
            (ctypes.c_int32 * len(streams))(*[stream.element_size() for stream in streams]),
            (ctypes.c_int32 * len(streams))(*written),
            ctypes.c_int32(len(streams)),
            ctypes.c_int64(param.numel()),
        )
        self.function = ctypes.CDLL(library).updraft_bench_limit

    def step(self):
        self.function(*self.arguments)


def make(optimizer, implementation, grads, dtype, tensors, elements, arguments):
    """An optimizer that has taken a step, or None where there is no such implementation."""
    arguments = arguments | IMPLEMENTATIONS[implementation]
    fresh = grads == "fresh"
    sizes = DTYPES[dtype], tensors, elements
    if implementation == "updraft":
        import updraft.optim

        chosen = getattr(updraft.optim, optimizer)
        return Dense(chosen, implementation, fresh, *sizes, arguments)
    try:
        chosen = getattr(torch.optim, optimizer)
        return Dense(chosen, implementation, fresh, *sizes, arguments)
    except (AttributeError, TypeError, RuntimeError) as error:
        if implementation == "compile":
            print(f"torch.compile: {error}", file=sys.stderr)
        return None


def run(stepped, count):
    """Seconds per step."""
    started = time.perf_counter()
    seconds, done = 0.0, 0
    while done < count and time.perf_counter() - started < MAX_SECONDS:
        if stepped.fresh:
            stepped.backward()
        before = time.perf_counter()
        stepped.step()
        seconds += time.perf_counter() - before
        done += 1
    return seconds / done


def answer(line, made):
    command, *words = line.split(" ", 7)
    if command == "hello":
        return ""
    if command == "run":
        return repr(run(made[int(words[0])], int(words[1])))
    if command == "drop":
        made.clear()
        return ""
    if command == "make":
        *names, tensors, elements, arguments = words
        new = make(*names, int(tensors), int(elements), json.loads(arguments))
        if new is None:
            return "none"
    elif command == "sparse":
        name, *sizes, arguments = words
        new = Sparse(name, *map(int, sizes), json.loads(arguments))
    elif command == "limit":
        new = Limit(words[0], made[-1])
    else:
        raise ValueError(f"unknown command {command!r}")
    made.append(new)
    return str(len(made) - 1)


def main():
    torch.set_num_threads(int(sys.argv[1]))
    made = []
    for line in sys.stdin:
        try:
            reply = f"ok {answer(line.rstrip(), made)}".rstrip()
        except Exception as error:  # the other side decides what an error means
            reply = f"error {type(error).__name__}: {error}".replace("\n", " ")
        print(reply, flush=True)


if __name__ == "__main__":
    main()
