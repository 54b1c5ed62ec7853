#!/bin/sh
# The live view in Debian's chromium, driven by node; where one of them is missing the test is skipped.
# usage: browser.sh PROGRAM SOURCE [FOLDER-FOR-PICTURES]
program=$1 source=$2
chromium=$(command -v chromium || command -v chromium-browser) || { echo "chromium is not installed"; exit 77; }
command -v node > /dev/null || { echo "node is not installed"; exit 77; }
exec node "$source/tests/live/browser.mjs" "$program" "$chromium" "$source/bundles/spread-medium.safetensors" $3
