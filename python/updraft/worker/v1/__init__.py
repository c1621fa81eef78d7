"""The messages and the service in `proto/updraft/worker/v1`, which the build compiles."""
