"""Steps torch.optim on command, for updraft-bench.

Reads one command a line from the standard input and answers each with one line, `ok [RESULT]` or
`error TEXT`:

    hello
    make OPTIMIZER IMPL DTYPE TENSORS ELEMENTS JSON   -> a number for `run`, or `none`
    sparse OPTIMIZER ROWS COLUMNS LISTED LISTS JSON   -> a number for `run`
    run NUMBER COUNT                                  -> seconds per step
    drop
"""

import json
import sys
import time

import torch

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
IMPLEMENTATIONS = {
    "for-loop": {"foreach": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
}
# How often torch's slower implementations are repeated is not worth minutes of waiting.
MAX_SECONDS = 2.0


def make(optimizer, implementation, dtype, tensors, elements, arguments):
    """An optimizer that has taken one step, or None where torch has no such implementation."""
    generator = torch.Generator().manual_seed(0)
    params = []
    for _ in range(tensors):
        param = torch.rand(elements, generator=generator).to(DTYPES[dtype]).requires_grad_()
        param.grad = torch.rand(elements, generator=generator).to(DTYPES[dtype]) * 1e-2
        params.append(param)
    try:
        result = getattr(torch.optim, optimizer)(
            params, **arguments, **IMPLEMENTATIONS[implementation]
        )
        result.step()
    except (AttributeError, TypeError, RuntimeError):
        return None
    return result


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

    def step(self):
        self.param.grad = self.grads[self.next]
        self.next = (self.next + 1) % len(self.grads)
        self.optimizer.step()


def run(optimizer, count):
    """Seconds per step."""
    start = time.perf_counter()
    done = 0
    while done < count:
        optimizer.step()
        done += 1
        if time.perf_counter() - start > MAX_SECONDS:
            break
    return (time.perf_counter() - start) / done


def answer(line, optimizers):
    command, *words = line.split(" ", 6)
    if command == "hello":
        return ""
    if command == "make":
        name, implementation, dtype, tensors, elements, arguments = words
        made = make(name, implementation, dtype, int(tensors), int(elements), json.loads(arguments))
        if made is None:
            return "none"
        optimizers.append(made)
        return str(len(optimizers) - 1)
    if command == "sparse":
        name, *sizes, arguments = words
        made = Sparse(name, *map(int, sizes), json.loads(arguments))
        made.step()
        optimizers.append(made)
        return str(len(optimizers) - 1)
    if command == "run":
        return repr(run(optimizers[int(words[0])], int(words[1])))
    if command == "drop":
        optimizers.clear()
        return ""
    raise ValueError(f"unknown command {command!r}")


def main():
    torch.set_num_threads(int(sys.argv[1]))
    optimizers = []
    for line in sys.stdin:
        try:
            reply = f"ok {answer(line.rstrip(), optimizers)}".rstrip()
        except Exception as error:  # the other side decides what an error means
            reply = f"error {type(error).__name__}: {error}".replace("\n", " ")
        print(reply, flush=True)


if __name__ == "__main__":
    main()
