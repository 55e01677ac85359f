
# Methods of a target, for `sabir bench`, `sabir call` and `sabir describe TARGET METHOD`.
function __sabir_methods
    set -l words (commandline -opc)
    test (count $words) -eq 3; and sabir complete-methods $words[3] (commandline -ct) 2>/dev/null
end
complete -c sabir -f -n "__fish_seen_subcommand_from bench call describe" -a "(__sabir_methods)"
