//! `sabir`: JSON-RPC 2.0 on the command line.

fn main() -> std::process::ExitCode {
    sabir_cli::main()
}
