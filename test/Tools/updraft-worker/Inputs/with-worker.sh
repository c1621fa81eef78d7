#!/usr/bin/env bash
# Starts updraft-worker with the given options and waits until it listens. Then sends it the signal in
# $SIGNAL (default: TERM), waits for its end, and prints its output and exit code.
set -euo pipefail
output=$(mktemp)
trap 'rm -f "$output"' EXIT
updraft-worker "$@" >"$output" 2>&1 &
worker=$!
for ((i = 0; i < 300; ++i)); do
  grep -q '^listening on' "$output" && break
  kill -0 "$worker" 2>/dev/null || break
  sleep 0.1
done
kill "-${SIGNAL:-TERM}" "$worker" 2>/dev/null || true
code=0
wait "$worker" || code=$?
cat "$output"
echo "exit code $code"
