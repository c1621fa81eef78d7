"""Steps optimizers of torch and of updraft on command, for updraft-bench.

Besides the commands of peer.py:

    make OPTIMIZER IMPL GRADS DTYPE TENSORS ELEMENTS JSON
    sparse OPTIMIZER ROWS COLUMNS LISTED LISTS JSON
    limit LIBRARY

IMPL is an implementation of torch.optim, `compile` (its foreach one through torch.compile),
`f32-products` (torch.optim.Muon, but with products in f32), `pytorch-optimizer` (the package) or
`updraft`. ELEMENTS is a number, or shapes in place of TENSORS: `12*768x3072,24*768x768`. GRADS is
`persistent`, or `fresh`: an untimed backward puts the gradients of each step into new memory.
`limit` is the memory limit of the contestant that was made last.
"""

import ctypes
import json
import sys

import torch
from peer import Stepped, serve

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
IMPLEMENTATIONS = {
    "for-loop": {"foreach": False},
    "foreach": {"foreach": True},
    "fused": {"fused": True},
    "compile": {"foreach": True},
    "f32-products": {},
    "pytorch-optimizer": {},
    "updraft": {},
}


def shapes_of(tensors, elements):
    if "x" not in elements:
        return [(int(elements),)] * int(tensors)
    shapes = []
    for part in elements.split(","):
        count, _, shape = part.partition("*")
        shapes += [tuple(map(int, shape.split("x")))] * int(count)
    return shapes


def orthogonalized_in_f32(grad, ns_coefficients, ns_steps, eps):
    """The iteration of torch.optim.Muon, without its conversion to bf16."""
    a, b, c = ns_coefficients
    x = grad.T if grad.size(0) > grad.size(1) else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(ns_steps):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if grad.size(0) > grad.size(1) else x


class MuonInF32(torch.optim.Muon):
    """torch.optim.Muon with products in f32."""

    def step(self):
        module = torch.optim._muon
        before = module._zeropower_via_newtonschulz
        module._zeropower_via_newtonschulz = orthogonalized_in_f32
        try:
            super().step()
        finally:
            module._zeropower_via_newtonschulz = before


class Dense(Stepped):
    """An optimizer over tensors, after two steps."""

    def __init__(self, optimizer_class, implementation, fresh, dtype, shapes, arguments):
        generator = torch.Generator().manual_seed(0)
        self.params = [
            torch.rand(shape, generator=generator).to(dtype).requires_grad_() for shape in shapes
        ]
        self.factor = torch.tensor(1e-2, dtype=dtype)
        drawn = {
            shape: torch.rand(shape, generator=generator).to(dtype)
            for shape in dict.fromkeys(shapes)
        }
        self.upstream = [drawn[shape] for shape in shapes]
        self.backward()
        if fresh:
            self.prepare = self.backward
        self.optimizer = optimizer_class(self.params, **arguments)
        self.step = self.optimizer.step
        if implementation == "compile":
            torch._dynamo.reset()
            self.step = torch.compile(self.step)
        self.step()
        self.step()

    def backward(self):
        """Gives every parameter a gradient in new memory, by the backward of a sum."""
        for param in self.params:
            param.grad = None
        torch.autograd.backward([param * self.factor for param in self.params], self.upstream)


class Sparse(Stepped):
    """An optimizer over coalesced gradients of some rows, with other rows in every step."""

    def __init__(self, optimizer, *words):
        *sizes, arguments = words
        rows, columns, listed, lists = map(int, sizes)
        generator = torch.Generator().manual_seed(0)
        self.param = torch.rand(rows, columns, generator=generator).requires_grad_()
        self.optimizer = getattr(torch.optim, optimizer)([self.param], **json.loads(arguments))
        values = torch.rand(listed, columns, generator=generator) * 1e-2
        self.grads = []
        for _ in range(lists):
            indices = torch.randperm(rows, generator=generator)[:listed].sort()[0]
            grad = torch.sparse_coo_tensor(
                indices[None], values, (rows, columns), is_coalesced=True, check_invariants=False
            )
            self.grads.append(grad)
        self.next = 0
        self.step()

    def step(self):
        self.param.grad = self.grads[self.next]
        self.next = (self.next + 1) % len(self.grads)
        self.optimizer.step()


class Limit(Stepped):
    """An in-place kernel over the memory of a step of one parameter."""

    def __init__(self, library, stepped):
        (param,) = stepped.params
        states = [
            state
            for state in stepped.optimizer.state[param].values()
            if isinstance(state, torch.Tensor) and state.shape == param.shape
        ]
        streams = [param.grad, param.detach(), *states]
        self.kept = streams
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
    """An optimizer after one step, or None if there is no such implementation."""
    arguments = json.loads(arguments) | IMPLEMENTATIONS[implementation]
    fresh = grads == "fresh"
    sizes = DTYPES[dtype], shapes_of(tensors, elements)
    if implementation == "f32-products":
        return Dense(MuonInF32, implementation, fresh, *sizes, arguments)
    if optimizer == "Muon" and implementation == "for-loop":
        arguments.pop("foreach")  # Muon only has the for-loop.
    if implementation == "pytorch-optimizer":
        try:
            import pytorch_optimizer
        except ImportError:
            return None
        chosen = getattr(pytorch_optimizer, optimizer)
        return Dense(chosen, implementation, fresh, *sizes, arguments)
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


def main():
    torch.set_num_threads(int(sys.argv[1]))
    made = []
    makers = {
        "make": make,
        "sparse": Sparse,
        "limit": lambda library: Limit(library, made[-1]),
    }
    serve(lambda: "", makers, made)


if __name__ == "__main__":
    main()
