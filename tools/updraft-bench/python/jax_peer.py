"""Steps optimizers of optax on command, for updraft-bench.

peer.py lists the commands, and `make` is that of torch_peer.py.

This is a separate process, because XLA and torch have independent thread pools. A step is one
compiled call, which returns new parameters, gradients and states in the same memory.
"""

import json
import os
import sys

from peer import Stepped, serve

OPTIMIZERS = {
    "Adadelta": lambda optax: optax.adadelta(1.0),
    "Adamax": lambda optax: optax.adamax(2e-3),
    "AdamW": lambda optax: optax.adamw(1e-3, weight_decay=1e-2),
    "NAdam": lambda optax: optax.nadam(2e-3),
    "RAdam": lambda optax: optax.radam(1e-3),
    "RMSprop": lambda optax: optax.rmsprop(1e-2, decay=0.99),
    "Rprop": lambda optax: optax.rprop(1e-2),
}


class Dense(Stepped):
    """An optimizer over tensors of one size, after two steps."""

    def __init__(self, jax, optax, optimizer, tensors, elements):
        keys = jax.random.split(jax.random.key(0), 2)
        self.params = [jax.random.uniform(keys[0], (elements,)) for _ in range(tensors)]
        self.grads = [jax.random.uniform(keys[1], (elements,)) * 1e-2 for _ in range(tensors)]
        transformation = OPTIMIZERS[optimizer](optax)
        self.states = transformation.init(self.params)

        def update(params, states, grads):
            updates, states = transformation.update(grads, states, params)
            return optax.apply_updates(params, updates), states

        self.compiled = jax.jit(update, donate_argnums=(0, 1))
        self.wait = jax.block_until_ready
        self.step()
        self.step()

    def step(self):
        self.params, self.states = self.compiled(self.params, self.states, self.grads)
        self.wait(self.params)


class Jax:
    """Jax and optax, imported when first needed."""

    def hello(self):
        try:
            import jax
            import optax
        except ImportError:
            return "none"
        self.modules = jax, optax
        return ""

    def make(self, optimizer, _, grads, dtype, tensors, elements, arguments):
        if optimizer not in OPTIMIZERS or (grads, dtype) != ("persistent", "f32"):
            return None
        if json.loads(arguments):  # arguments of torch's class
            return None
        return Dense(*self.modules, optimizer, int(tensors), int(elements))


def main():
    # XLA uses as many threads as there are CPUs.
    cpus = sorted(os.sched_getaffinity(0))[: int(sys.argv[1])]
    os.sched_setaffinity(0, cpus)
    jax = Jax()
    serve(jax.hello, {"make": jax.make}, [])


if __name__ == "__main__":
    main()
