"""Indices of rows that another thread changes."""

import contextlib
import threading


@contextlib.contextmanager
def changing(indices, wrong):
    """Repeatedly changes the middle one of the indices 0, 1, ... to `wrong` and back."""
    middle = len(indices) // 2
    is_done = threading.Event()

    def change():
        while not is_done.is_set():
            indices[middle] = wrong
            indices[middle] = middle

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()
