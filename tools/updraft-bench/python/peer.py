"""The protocol of the programs that step optimizers on command, for updraft-bench.

They read one command per line from stdin, and answer each with one line, `ok [RESULT]` or
`error TEXT`:

    hello             -> `none` if the package to measure is not installed
    MAKE WORDS…       -> a number for `run`, or `none`; each program defines its own MAKE commands
    run NUMBER COUNT  -> seconds per step
    drop
"""

import sys
import time

# Limits the repetitions of slow implementations, which would take minutes.
MAX_SECONDS = 2.0


class Stepped:
    """A contestant that a command makes. It has taken a step."""

    def prepare(self):
        """Prepares a step, untimed."""

    def step(self):
        """Takes a step and waits for its end."""
        raise NotImplementedError


def seconds_per_step(stepped, count):
    started = time.perf_counter()
    seconds, done = 0.0, 0
    while done < count and time.perf_counter() - started < MAX_SECONDS:
        stepped.prepare()
        before = time.perf_counter()
        stepped.step()
        seconds += time.perf_counter() - before
        done += 1
    return seconds / done


def answer(line, hello, makers, made):
    command, *words = line.split(" ", 7)
    if command == "hello":
        return hello()
    if command == "run":
        return repr(seconds_per_step(made[int(words[0])], int(words[1])))
    if command == "drop":
        made.clear()
        return ""
    if command not in makers:
        raise ValueError(f"unknown command {command!r}")
    new = makers[command](*words)
    if new is None:
        return "none"
    made.append(new)
    return str(len(made) - 1)


def serve(hello, makers, made):
    """Answers commands until the end of the input.

    Args:
        hello: returns the answer to `hello`.
        makers: functions that take the words of a command and return a contestant, or None.
        made: the list of contestants made so far.
    """
    for line in sys.stdin:
        try:
            reply = f"ok {answer(line.rstrip(), hello, makers, made)}".rstrip()
        except Exception as error:  # the other side decides how to handle an error
            reply = f"error {type(error).__name__}: {error}".replace("\n", " ")
        print(reply, flush=True)
