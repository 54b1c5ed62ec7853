#!/bin/sh
# The Debian package, unpacked somewhere: the program in it finds its bundles and behaviours there, and the package
# names the libraries that the program needs.
set -e
cpack=$1 build=$2
command -v dpkg-deb > /dev/null && command -v dpkg-shlibdeps > /dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "deb.sh: $*"; exit 1; }
"$cpack" -G DEB --config "$build/CPackConfig.cmake" -B "$folder" > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
package=$(ls "$folder"/mawam_*.deb)
dpkg-deb -x "$package" "$folder/unpacked"
dpkg-deb -f "$package" Depends | grep -q libjansson4 || fail "the package does not name Jansson"
cd "$folder"
mawam() { env -i HOME="$folder" PATH="$(getconf PATH)" "$folder/unpacked/usr/bin/mawam" "$@"; }
mawam bundle info spread-medium > info || fail "the packaged bundle is not found"
mawam data make spread-medium -o data --transitions 50 --threads 1 > made || fail "the packaged behaviours are not found"
[ -f unpacked/usr/share/man/man1/mawam-eval.1 ] || [ -f unpacked/usr/share/man/man1/mawam-eval.1.gz ] || fail "no manual"
packages=unpacked/usr/lib/python3/dist-packages
[ -f $packages/mawam/__init__.py ] || fail "no Python package"
[ -z "$(find unpacked -name '__pycache__')" ] || fail "compiled Python is packaged"
if /usr/bin/python3 -c 'import numpy' 2> /dev/null; then
    library=$(find "$folder/unpacked" -name libmawam.so)
    env -i HOME="$folder" PATH="$(getconf PATH)" PYTHONPATH=$packages MAWAM_LIBRARY="$library" /usr/bin/python3 -B -c '
import mawam
mawam.Bundle("spread-medium")
assert "main" in mawam.study_parts()' || fail "the packaged Python package finds no library or bundle"
fi
