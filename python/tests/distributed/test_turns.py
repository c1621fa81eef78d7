"""Threads that take turns with a context, and those that share a lock."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from updraft.distributed.optim.shared_lock import SharedLock
from updraft.distributed.turns import Turns

THREADS = 8


def most_at_once(enter, times=50):
    """How many threads were within what `enter(thread)` returns at the same time."""
    counting = threading.Lock()
    within = most = 0

    def run(thread):
        nonlocal within, most
        for _ in range(times):
            with enter(thread):
                with counting:
                    within += 1
                    most = max(most, within)
                time.sleep(0.0001)
                with counting:
                    within -= 1

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(run, range(THREADS)))
    return most


def test_one_thread_at_a_time_has_the_turn_of_a_context():
    turns = Turns()
    assert most_at_once(lambda _: turns.of(1)) == 1
    assert most_at_once(turns.of) > 1


def test_a_turn_ends_with_an_error():
    turns = Turns()
    try:
        with turns.of(1):
            raise ValueError
    except ValueError:
        pass
    assert most_at_once(lambda _: turns.of(1), times=1) == 1


def test_a_lock_is_shared_or_had_alone():
    lock = SharedLock()
    assert most_at_once(lambda _: lock.shared()) > 1
    assert most_at_once(lambda _: lock.alone()) == 1

    counts = {"shared": 0, "alone": 0}
    counting = threading.Lock()

    def run(thread):
        kind = "shared" if thread % 4 else "alone"
        for _ in range(50):
            with getattr(lock, kind)():
                with counting:
                    counts[kind] += 1
                    assert not counts["alone"] or sum(counts.values()) == 1
                time.sleep(0.0001)
                with counting:
                    counts[kind] -= 1

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(run, range(THREADS)))
