
# Methods of a target, for `sabir bench`, `sabir call` and `sabir describe TARGET METHOD`.
_sabir_with_methods() {
    if (( CURRENT == 4 )) && [[ $words[2] == (bench|call|describe) && $words[3] != -* && $words[4] != -* ]]; then
        local -a methods
        methods=("${(@f)$(sabir complete-methods "${(Q)words[3]}" "$words[4]" 2>/dev/null)}")
        compadd -a methods
    else
        _sabir "$@"
    fi
}
compdef _sabir_with_methods sabir
