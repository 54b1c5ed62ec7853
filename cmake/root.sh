#!/bin/sh
# Runs a command as root, by sudo where that is needed.
[ "$(id -u)" = 0 ] || set -- sudo "$@"
exec "$@"
