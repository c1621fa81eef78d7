"""Runs five steps at once, and two and then three from what the two have written: the files are the
same. What follows `--first` is not said again for the three.

usage: check-resuming.py UPDRAFT-RUN INPUT FOLDER ARGUMENT... [--first ARGUMENT...]
"""

import pathlib
import subprocess
import sys

import safetensors_file


def main():
    tool, source, folder, *arguments = sys.argv[1:]
    split = arguments.index("--first") if "--first" in arguments else len(arguments)
    always, first = arguments[:split], arguments[split + 1 :]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def run(steps, before, after, more):
        command = [tool, *always, *more, "--steps", str(steps), "--in", str(before)]
        subprocess.run([*command, "--out", str(after)], check=True, stdout=subprocess.DEVNULL)

    whole, part, following, resumed = (
        folder / f"{name}.st" for name in ("whole", "part", "following", "resumed")
    )
    run(5, source, whole, first)
    run(2, source, part, first)
    gradients = {
        name: tensor
        for name, tensor in safetensors_file.read(source).items()
        if name.startswith("grad/")
    }
    safetensors_file.write(following, safetensors_file.read(part) | gradients)
    run(3, following, resumed, [])
    if whole.read_bytes() != resumed.read_bytes():
        sys.exit(f"error: {resumed} is not {whole}")
    if whole.read_bytes() == part.read_bytes():
        sys.exit(f"error: the last three steps have changed nothing in {whole}")
    print("5 steps are 2 and 3")


if __name__ == "__main__":
    main()
