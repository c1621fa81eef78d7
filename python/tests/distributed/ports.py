"""Free ports of this machine for the stores of worlds."""

import random
import socket

_ASKED_FOR = range(20_000, 32_000)  # outside of the range for outgoing connections


def free_port():
    """Returns a port that nobody listens at, outside of the range for outgoing connections."""
    while True:
        port = random.choice(_ASKED_FOR)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
