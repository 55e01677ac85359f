
# Methods of a target, for `sabir bench`, `sabir call` and `sabir describe TARGET METHOD`. The line is split here:
# bash itself would split targets at their colons.
_sabir_with_methods() {
    local line=${COMP_LINE:0:COMP_POINT} words
    read -ra words <<< "$line"
    [[ $line == *' ' ]] && words+=('')
    if [[ ${#words[@]} -eq 4 && ${words[1]} =~ ^(bench|call|describe)$ && ${words[2]} != -* && ${words[3]} != -* ]]; then
        mapfile -t COMPREPLY < <(sabir complete-methods "${words[2]}" "${words[3]}" 2>/dev/null)
    else
        _sabir "$@"
    fi
}
complete -F _sabir_with_methods -o bashdefault -o default sabir
