#!/bin/sh
# An installed mawam works from anywhere: other folder, other HOME, no source tree in sight. Behaviours, bundles and
# examples are found, in the stated order; the manual and completions are there.
set -e
cmake=$1 build=$2 source=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder/prefix" > "$folder/log" || { cat "$folder/log"; exit 1; }
mkdir "$folder/home" "$folder/work"
cd "$folder/work"
mawam() { env -i HOME="$folder/home" PATH="$(getconf PATH)" $DATA "$folder/prefix/bin/mawam" "$@"; }
fail() { echo "anywhere.sh: $*"; exit 1; }
share=$folder/prefix/share

mawam bundle info spread-medium > info || fail "the installed bundle is not found"
mawam zoo --json | grep -q '"relative_gain": [0-9]' || fail "the zoo knows no scores"
mawam data make spread-medium -o data --transitions 50 --threads 1 > made || fail "the installed behaviours are not found"
ls "$share"/mawam/examples/*.c > /dev/null || fail "no examples"
grep -q 'mawam.-eval' "$share/man/man1/mawam.1" || fail "no manual"
grep -q 'accept' "$share/man/man1/mawam-eval.1" || fail "the manual lacks an option"
for shell in bash-completion/completions/mawam zsh/site-functions/_mawam fish/vendor_completions.d/mawam.fish; do
    [ -f "$share/$shell" ] || fail "no completion $shell"
done
if command -v bash > /dev/null; then
    words=$(PATH=$folder/prefix/bin:$PATH bash -c '. '"$share"'/bash-completion/completions/mawam
        COMP_WORDS=(mawam eval --acc); COMP_CWORD=2; _mawam; echo "${COMPREPLY[@]}"')
    [ "$words" = --accept-rules ] || fail "bash completes 'mawam eval --acc' to '$words'"
    words=$(PATH=$folder/prefix/bin:$PATH bash -c '. '"$share"'/bash-completion/completions/mawam
        COMP_WORDS=(mawam data exp); COMP_CWORD=2; _mawam; echo "${COMPREPLY[@]}"')
    [ "$words" = export ] || fail "bash completes 'mawam data exp' to '$words'"
fi

if command -v fish > /dev/null; then
    words=$(PATH=$folder/prefix/bin:$PATH HOME=$folder/home fish -c \
        'source '"$share"'/fish/vendor_completions.d/mawam.fish; complete -C "mawam eval --acc"')
    [ "$words" = --accept-rules ] || fail "fish completes 'mawam eval --acc' to '$words'"
fi

# The user's folder comes before the installed one, and MAWAM_DATA before both: a broken file there is noticed.
mkdir -p "$folder/home/.local/share/mawam/bundles" "$folder/given/bundles"
echo broken > "$folder/home/.local/share/mawam/bundles/spread-medium.safetensors"
mawam bundle info spread-medium > /dev/null 2> message && fail "the user's own folder does not come first"
grep -q "$folder/home/.local/share/mawam/bundles/spread-medium.safetensors" message || fail "$(cat message)"
cp "$share/mawam/bundles/spread-medium.safetensors" "$folder/given/bundles"
DATA="MAWAM_DATA=$folder/given" mawam bundle info spread-medium > /dev/null || fail "MAWAM_DATA does not come first"

# Uninstalling removes what was installed and nothing of others.
echo stranger > "$folder/prefix/bin/stranger"
mkdir "$folder/prefix/share/man/man7"
(cd "$folder/prefix" && find . ! -type d ! -name stranger | sed 's/^[.]//') > "$folder/manifest"
"$source/cmake/uninstall.sh" "$folder/manifest" "$folder/prefix" || fail "uninstalling ends with $?"
left=$(find "$folder/prefix" ! -type d)
[ "$left" = "$folder/prefix/bin/stranger" ] || fail "uninstalling leaves $left"
[ ! -e "$share/mawam" ] && [ ! -e "$folder/prefix/include/mawam" ] || fail "uninstalling leaves folders of its own"
[ -d "$share/man/man7" ] || fail "uninstalling removes folders of others"
