#!/bin/sh
# Stands for compute-sanitizer where there is nothing to find: a step was right, and a summary.
for argument in "$@"; do
  case $argument in
    --lines=*) [ -n "$NO_STEPS" ] || echo '{"status": "passed"}' >"${argument#--lines=}" ;;
  esac
done
echo "========= COMPUTE-SANITIZER"
echo "========= ERROR SUMMARY: 0 errors"
