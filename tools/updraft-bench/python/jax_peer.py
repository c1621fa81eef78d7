"""Steps optimizers of optax on command, for updraft-bench; torch_peer.py has the commands.

A process of its own, for XLA and torch have thread pools that know nothing of each other. A step is
one compiled call, from parameters, gradients and states to new ones in the same memory.
"""

import json
import os
import sys
import time

OPTIMIZERS = {
    "Adadelta": lambda optax: optax.adadelta(1.0),
    "Adamax": lambda optax: optax.adamax(2e-3),
    "AdamW": lambda optax: optax.adamw(1e-3, weight_decay=1e-2),
    "NAdam": lambda optax: optax.nadam(2e-3),
    "RAdam": lambda optax: optax.radam(1e-3),
    "RMSprop": lambda optax: optax.rmsprop(1e-2, decay=0.99),
    "Rprop": lambda optax: optax.rprop(1e-2),
}
MAX_SECONDS = 2.0


class Stepped:
    """An optimizer on tensors of one size; it has taken two steps."""

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
        self.step()
        self.step()
        jax.block_until_ready(self.params)

    def step(self):
        self.params, self.states = self.compiled(self.params, self.states, self.grads)


def run(jax, stepped, count):
    """Seconds per step."""
    started = time.perf_counter()
    seconds, done = 0.0, 0
    while done < count and seconds < MAX_SECONDS:
        stepped.step()
        jax.block_until_ready(stepped.params)
        seconds = time.perf_counter() - started
        done += 1
    return seconds / done


def answer(jax, optax, line, made):
    command, *words = line.split(" ", 7)
    if command == "run":
        return repr(run(jax, made[int(words[0])], int(words[1])))
    if command == "drop":
        made.clear()
        return ""
    if command != "make":
        raise ValueError(f"unknown command {command!r}")
    optimizer, _, grads, dtype, tensors, elements, arguments = words
    if optimizer not in OPTIMIZERS or (grads, dtype) != ("persistent", "f32"):
        return "none"
    if json.loads(arguments):  # of torch's class
        return "none"
    made.append(Stepped(jax, optax, optimizer, int(tensors), int(elements)))
    return str(len(made) - 1)


def main():
    # XLA takes as many threads as there are CPUs.
    cpus = sorted(os.sched_getaffinity(0))[: int(sys.argv[1])]
    os.sched_setaffinity(0, cpus)
    jax = optax = None
    made = []
    for line in sys.stdin:
        try:
            if line.startswith("hello"):
                try:
                    import jax
                    import optax

                    reply = "ok"
                except ImportError:
                    reply = "ok none"
            else:
                reply = f"ok {answer(jax, optax, line.rstrip(), made)}".rstrip()
        except Exception as error:  # the other side decides what an error means
            reply = f"error {type(error).__name__}: {error}".replace("\n", " ")
        print(reply, flush=True)


if __name__ == "__main__":
    main()
