#!/bin/sh
# Runs a test at a CPU level below the one that would be chosen; 77 (skipped) where that is not possible.
level=$1 program=$2 test=$3
case $("$program" --version) in *"level $level") exit 77 ;; esac
MAWAM_CPU=$level "$program" --version > /dev/null 2>&1 || exit 77
MAWAM_CPU=$level exec "$test"
