//! Ethereum's JSON-RPC.

use crate::rules::table::{Rule, Scope, Severity, define};

define! { pub(crate) ETH:
ETH001 Error Message {
    title: "a quantity is not minimal 0x-hexadecimal",
    why: "Nodes refuse decimal numbers, empty quantities and leading zeros.",
    fix: "Write \"0x0\" for zero and \"0x41\" for 65: in quotes, without leading zeros.",
    source: "Ethereum execution APIs, hex encoding; EIP-1474",
}
ETH002 Error Session {
    title: "an event names a subscription that is not open",
    why: "The client cannot tell whose event it is.",
    fix: "Send events only between the answers to eth_subscribe and eth_unsubscribe.",
    source: "Ethereum execution APIs, eth_subscribe",
}
ETH003 Warning Message {
    title: "params are given by name",
    why: "Ethereum's methods take them by position; most nodes refuse an object.",
    fix: "Send an array.",
    source: "EIP-1474",
}
ETH004 Warning Message {
    title: "an error code is not in a known range",
    why: "Libraries choose what to do by the code.",
    fix: "Use -32099 to -32000, the codes of EIP-1474 and EIP-1193, or 3 for a reverted execution.",
    source: "EIP-1474; EIP-1193; engine API",
}
}
