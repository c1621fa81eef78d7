#!/bin/sh
# What it prints of a write out of bounds.
echo "========= Invalid __global__ write of size 4 bytes"
echo "========= ERROR SUMMARY: 1 error"
exit 86
