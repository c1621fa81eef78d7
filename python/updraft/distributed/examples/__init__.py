"""Programs for `torchrun -m`, each of which trains something on several workers."""
