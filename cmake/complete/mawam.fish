# fish completion of mawam, from the program's own help.
function __mawam_help
    set -l words (commandline -opc)
    set -l seen (string match -r '^[a-z].*' -- $words[2..-1])[1..2]
    $words[1] $seen --help 2>/dev/null; or $words[1] $seen[1] --help 2>/dev/null
end
complete -c mawam -n 'string match -q -- "-*" (commandline -ct)' -f -a '(__mawam_help | grep -oE -- "--[a-zA-Z][a-zA-Z_-]*" | sort -u) --help --quiet'
complete -c mawam -a '(__mawam_help | sed -n "/^commands:/,\$s/^  \([a-z]*\) .*/\1/p")'
