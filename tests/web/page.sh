#!/bin/sh
# The page that plans in Debian's chromium, driven by node; where one of them, or the page, is missing the test is skipped.
# usage: page.sh PROGRAM SITE BUNDLES [FOLDER-FOR-PICTURES]
chromium=$(command -v chromium || command -v chromium-browser) || { echo "chromium is not installed"; exit 77; }
command -v node > /dev/null || { echo "node is not installed"; exit 77; }
[ -f "$2/mawam.wasm" ] || { echo "the page that plans was not built: clang for WebAssembly is missing"; exit 77; }
exec node "$(dirname "$0")/page.mjs" "$1" "$chromium" "$2" "$3" $4
