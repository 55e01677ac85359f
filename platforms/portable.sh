# The tests that need neither a shell nor signals, for systems other than Unix. `test` and `platforms/check` read this.
# One selection for all, so that nothing is built twice with other features. The tests start the examples: build these
# first, with `cargo build "${portable[@]}" --examples`.
portable=(-p sabir -p sabir-cli -p sabir-lsp --bins)
portable_tests=(
    --lib --test portable --test blocking --test calls --test http --test client --test demo
    --test callbacks --test lifecycle --test session
)
