#!/bin/sh
# The manual, made of the program's own help: mawam.1 and mawam-COMMAND.1 in a folder.
set -e
program=$1 folder=$2
mkdir -p "$folder"
version=$("$program" --version | sed 's/,.*//')

# Commands that a help text lists.
commands() { sed -n '/^commands:/,$s/^  \([a-z]*\) .*/\1/p'; }
# Text as roff without formatting.
plain() { echo '.nf'; sed 's/\\/\\e/g; s/^\([.'"'"']\)/\\\&\1/; s/-/\\-/g'; echo '.fi'; }

# page NAME SUMMARY: a page head on standard output
head_of() {
    printf '.TH %s 1 "" "%s" "User Commands"\n.SH NAME\n%s \\- %s\n' "$(echo "$1" | tr a-z A-Z)" "$version" "$1" "$2"
}

main=$("$program" --help)
{
    head_of mawam "$(echo "$main" | sed -n '1s/^mawam: //p')"
    echo '.SH SYNOPSIS'; echo "$main" | plain
    echo '.SH "SEE ALSO"'; for command in $(echo "$main" | commands); do echo "mawam\\-$command(1)"; done
} > "$folder/mawam.1"
for command in $(echo "$main" | commands); do
    text=$("$program" "$command" --help)
    {
        head_of "mawam-$command" "$(echo "$main" | sed -n "s/^  $command  *//p")"
        echo '.SH DESCRIPTION'; echo "$text" | plain
        for inner in $(echo "$text" | commands); do
            echo ".SH \"$command $inner\"" | tr a-z A-Z
            "$program" "$command" "$inner" --help | plain
        done
    } > "$folder/mawam-$command.1"
done
