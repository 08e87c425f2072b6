#!/bin/sh
# Stands where a program of nccl-tests would: it is copied, inspected, and never run, as it is not linked with MPI.
echo "not a collective"
