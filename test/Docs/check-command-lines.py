"""Checks that the command lines in pages are valid: their programs, files and options exist.

usage: check-command-lines.py ROOT PAGE.md...

Reads the blocks of `sh`, and commands of `console` blocks. A program of this project, and torchrun,
must list each option in what `--help` prints. Doesn't run the commands themselves: other tests do
where that takes little time, and some need other machines.
"""

import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys

#: Programs whose `--help` lists all options.
OURS = re.compile(r"updraft[a-z-]*|torchrun")
#: Programs of others, words of the shell, and programs of a build or a package.
OTHERS = {"c++", "cc", "cmake", "done", "echo", "export", "for", "ls", "ninja", "openssl", "python"}
OTHERS |= {"tar", "gpu-suite", "ServerTests"}
ASSIGNMENT = re.compile(r"\w+=")


def commands(page):
    for language, block in re.findall(r"^```(sh|console)\n(.*?)^```", page, re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            if language == "sh" or line.startswith("$ "):
                yield line.removeprefix("$ ")


def words_of(command):
    """Returns the words of a simple command, without assignments, comments and redirections."""
    words = shlex.split(command.partition(" | ")[0].rstrip("& "), comments=True)
    while words and ASSIGNMENT.match(words[0]):
        del words[0]
    return words


@functools.cache
def help_of(program):
    ran = subprocess.run(
        [*program, "--help"], capture_output=True, text=True, timeout=120, check=False
    )
    if ran.returncode:
        sys.exit(f"`{shlex.join(program)} --help` ended with {ran.returncode}: {ran.stderr}")
    return ran.stdout


def has_option(text, option):
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def faults(root, command):
    words = words_of(command)
    if not words or re.match(r"\w+=\$\(", command):
        return
    program, rest = [words[0]], words[1:]
    name = pathlib.Path(words[0]).name
    is_python = name == "python" and rest and rest[0].endswith(".py")
    if is_python:
        program, rest = [sys.executable, str(root / rest[0])], rest[1:]
    elif (root / words[0]).is_file() and words[0].startswith("tools/"):
        program = [str(root / words[0])]
    elif OURS.fullmatch(name):
        program = [name]
        if rest and re.fullmatch(r"[a-z]+", rest[0]) and f"\n  {rest[0]} " in help_of((name,)):
            program.append(rest.pop(0))
    else:
        if name not in OTHERS:
            yield f"there is no program `{words[0]}`"
        return
    shown = " ".join(words[: len(words) - len(rest)])
    text = help_of(tuple(program))
    for word in rest:
        option = word.partition("=")[0]
        if name == "torchrun" and word.endswith(".py"):
            if "/" in word and not (root / word).is_file():
                yield f"there is no `{word}`"
            return
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and not has_option(text, option):
            yield f"`{shown}` has no option `{option}`"
        if re.match(r"(rules|examples|python)/", word) and not (root / word).is_file():
            yield f"there is no `{word}`"


def main():
    root = pathlib.Path(sys.argv[1])
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    found, failed = 0, False
    for path in sys.argv[2:]:
        for command in commands(pathlib.Path(path).read_text(encoding="utf-8")):
            found += 1
            for fault in faults(root, command):
                print(f"{path}: {fault}, in: {command}")
                failed = True
    print(f"{found} commands in {len(sys.argv) - 2} pages")
    sys.exit(failed)


if __name__ == "__main__":
    main()
