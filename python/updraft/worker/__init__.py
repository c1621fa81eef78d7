"""The messages of `updraft-worker`, by version."""
