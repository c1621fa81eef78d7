#!/bin/sh
# Prints the report of an out-of-bounds write.
echo "========= Invalid __global__ write of size 4 bytes"
echo "========= ERROR SUMMARY: 1 error"
exit 86
