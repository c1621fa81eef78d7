"""A world of processes shared by all tests, because importing torch takes longer than a test."""

import json
import os
import pathlib
import select
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
WORLD = 3
TIMEOUT = 300.0


class World:
    """A client, which runs tests, and workers that serve it: `client`, `worker1`, `worker2`.

    Args:
        folder: where the processes meet.
        faults: faults of messages with torch's faulty agent; None for the usual agent.
    """

    def __init__(self, folder, faults=None):
        environment = dict(
            os.environ,
            OMP_NUM_THREADS="1",
            GLOO_SOCKET_IFNAME="lo",
            TP_SOCKET_IFNAME="lo",
            PYTHONPATH=os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
        )
        program = [sys.executable, "-W", "ignore", str(HERE / "member.py"), str(folder / "store")]
        self.client = subprocess.Popen(
            [*program, str(WORLD), json.dumps(faults)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.whole = True
        self.answer()

    def run(self, path, name, folder, given):
        """Returns the error of a function in a file, or None."""
        task = {
            "module": pathlib.Path(path).stem,
            "function": name,
            "folder": str(folder),
            "given": given,
        }
        self.client.stdin.write(json.dumps(task) + "\n")
        self.client.stdin.flush()
        return self.answer()

    def answer(self):
        answers = self.client.stdout
        ready, _, _ = select.select([answers], [], [], TIMEOUT)
        line = answers.readline() if ready else ""
        if not line:
            self.stop()
            return "the client has ended" if ready else "the client has not answered in time"
        complaint, self.whole = json.loads(line)
        return complaint

    def stop(self):
        self.client.kill()
        self.client.wait()

    def alive(self):
        return self.whole and self.client.poll() is None
