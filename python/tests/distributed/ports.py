"""Ports of this machine for the stores of worlds."""

import random
import socket

_ASKED_FOR = range(20_000, 32_000)  # connections get others


def free_port():
    """Returns one that nobody listens at, and no connection is given."""
    while True:
        port = random.choice(_ASKED_FOR)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
