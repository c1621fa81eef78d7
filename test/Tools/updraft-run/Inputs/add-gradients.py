"""Adds the gradients of one safetensors file to the tensors of another, as the next input of
updraft-run.

usage: add-gradients.py AFTER BEFORE RESULT
"""

import sys

import safetensors_file


def main():
    tensors = safetensors_file.read(sys.argv[1])
    before = safetensors_file.read(sys.argv[2])
    tensors |= {name: tensor for name, tensor in before.items() if name.startswith("grad/")}
    safetensors_file.write(sys.argv[3], tensors)


if __name__ == "__main__":
    main()
