#!/bin/sh
# Installs the named Debian packages that are missing; says nothing when none is. Where packages are not Debian's, CMake
# says what is missing.
command -v dpkg-query >/dev/null || exit 0
missing=
for package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
command -v apt-get >/dev/null || {
    echo "mawam: missing:$missing (this machine has no apt-get; install their equivalents)" >&2
    exit 1
}
echo "installing:$missing"
root=$(dirname "$0")/root.sh
$root apt-get install -y --no-install-recommends $missing >/dev/null 2>&1 ||
    { $root apt-get update >/dev/null && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing >/dev/null; }
