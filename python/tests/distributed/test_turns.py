"""Threads that take turns in a context, and threads that share a lock."""

import functools
import inspect
import itertools
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from updraft.distributed.optim.shared_lock import SharedLock
from updraft.distributed.turns import Turns

THREADS = 8


def most_at_once(enter, times=50):
    """The maximum number of threads within the result of `enter(thread)` at the same time."""
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


class Interrupt(BaseException):
    pass


def is_interrupted(enter, file, at):
    """Enters the result of `enter()` and raises an interrupt at the `at`-th place where Python
    could handle one: when a function of a file begins, ends or has called another. Returns whether
    there are so many places.
    """
    left = at

    def profile(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename == file and event != "c_call":
            left -= 1
            if left < 0:
                sys.setprofile(None)
                raise Interrupt

    sys.setprofile(profile)
    try:
        with enter():
            pass
    except Interrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


def can_enter(enter):
    def run():
        with enter():
            pass

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(5)
    return not thread.is_alive()


@pytest.mark.parametrize(
    ("kind", "taken", "had"),
    [
        (Turns, lambda turns: turns.of(1), lambda turns: turns.of(1)),
        (SharedLock, SharedLock.shared, SharedLock.alone),
    ],
)
def test_an_interrupt_leaves_nothing_taken(kind, taken, had):
    file = inspect.getfile(kind)
    for at in itertools.count():
        lock = kind()
        if not is_interrupted(functools.partial(taken, lock), file, at):
            break
        assert can_enter(functools.partial(had, lock)), at
    assert at > 3


def test_turns_forget_contexts():
    turns = Turns()
    with turns.of(0):
        for number in range(1, 5000):
            with turns.of(number):
                pass
        assert len(turns._locks) <= 1001
        assert turns.of(0).locked()
