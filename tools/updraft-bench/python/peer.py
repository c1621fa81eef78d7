"""What the programs share that step optimizers on command, for updraft-bench.

They read one command a line from the standard input and answer each with one line, `ok [RESULT]` or
`error TEXT`:

    hello             -> `none` where what is to be stepped is not there
    MAKE WORDS…       -> a number for `run`, or `none`; what there is to make is for each to say
    run NUMBER COUNT  -> seconds per step
    drop
"""

import sys
import time

# How often slower implementations are repeated is not worth minutes of waiting.
MAX_SECONDS = 2.0


class Stepped:
    """What is made by a command, and has taken a step."""

    def prepare(self):
        """Does what comes before a step, and is not timed."""

    def step(self):
        """Takes a step, to its end."""
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
    """Answers commands until there are no more.

    Args:
        hello: returns the answer to `hello`.
        makers: functions of the words of a command that return what is stepped, or None.
        made: takes what they have made.
    """
    for line in sys.stdin:
        try:
            reply = f"ok {answer(line.rstrip(), hello, makers, made)}".rstrip()
        except Exception as error:  # the other side decides what an error means
            reply = f"error {type(error).__name__}: {error}".replace("\n", " ")
        print(reply, flush=True)
