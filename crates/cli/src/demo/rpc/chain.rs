//! A toy chain: enough for the clients of Ethereum, Substrate and Solana to connect and follow it. Everything in it is
//! made up from the number of the block.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, stream};
use sabir::{Ctx, RawJson, Router, SubscriptionStyle};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

/// How long a block lasts.
const BLOCK_TIME: Duration = Duration::from_millis(200);

/// The number of the first block.
const FIRST: u64 = 1000;

/// A made-up time for the first block, in seconds. Each block is a second later.
const GENESIS: u64 = 1_700_000_000;

const HEADS: SubscriptionStyle =
    SubscriptionStyle::new("chain_subscribeNewHead", "chain_newHead", "chain_unsubscribeNewHead");

/// When it began: its head follows from that.
#[derive(Clone, Copy)]
struct Chain {
    start: Instant,
}

/// The methods of the chain. It begins now.
pub(crate) fn router() -> Router {
    let chain = Chain { start: Instant::now() };
    let answers = |value: Value| {
        let answer = Arc::new(value);
        move |_: Ctx, _: Option<RawJson<'static>>| {
            let answer = Arc::clone(&answer);
            async move { Ok(RawJson::from_value(&*answer)?) }
        }
    };
    Router::new()
        .method_raw("eth_chainId", answers(json!("0x539")))
        .method_raw("net_version", answers(json!("1337")))
        .method_raw("eth_accounts", answers(json!([])))
        .method_raw("web3_clientVersion", answers(json!(format!("Sabir/v{}", env!("CARGO_PKG_VERSION")))))
        .method_raw("eth_blockNumber", move |_, _| async move {
            Ok(RawJson::from_value(&quantity(chain.head()))?)
        })
        .method("eth_getBlockByNumber", move |_, (block, _): (String, Option<bool>)| async move {
            Ok(chain.number(&block).filter(|number| *number <= chain.head()).map(block_of))
        })
        .method_raw("ping", super::ignore)
        .subscription(SubscriptionStyle::ethereum("newHeads"), move |_, ()| async move {
            Ok(chain.follow(header))
        })
        .subscription(HEADS, move |_, ()| async move {
            Ok(chain.follow(|number| json!({"number": quantity(number)})))
        })
        .subscription(SubscriptionStyle::solana("slot"), move |_, ()| async move {
            Ok(chain
                .follow(|slot| json!({"parent": slot - 1, "root": slot.saturating_sub(32), "slot": slot})))
        })
}

impl Chain {
    fn head(self) -> u64 {
        FIRST + (self.start.elapsed().as_millis() / BLOCK_TIME.as_millis()) as u64
    }

    /// The number that a caller names.
    fn number(self, block: &str) -> Option<u64> {
        match block {
            "latest" | "pending" | "safe" | "finalized" => Some(self.head()),
            "earliest" => Some(0),
            number => u64::from_str_radix(number.strip_prefix("0x")?, 16).ok(),
        }
    }

    /// Each head from the next one on, as `show` shows it.
    fn follow(self, show: fn(u64) -> Value) -> impl Stream<Item = Value> + Send + 'static {
        stream::unfold(self.head() + 1, move |number| async move {
            sleep_until(self.start + BLOCK_TIME * u32::try_from(number - FIRST).ok()?).await;
            Some((show(number), number + 1))
        })
    }
}

fn quantity(number: u64) -> String {
    format!("{number:#x}")
}

/// 32 bytes that look like a hash: those of different kinds, or of different blocks, differ.
fn digest(kind: u64, number: u64) -> String {
    let mut text = "0x".to_owned();
    let mut state = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ kind.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    for _ in 0..4 {
        state = (state ^ (state >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93).wrapping_add(0x9E37_79B9);
        text.push_str(&format!("{state:016x}"));
    }
    text
}

/// A block as `newHeads` tells it.
fn header(number: u64) -> Value {
    json!({
        "number": quantity(number),
        "hash": digest(0, number),
        "parentHash": digest(0, number.saturating_sub(1)),
        "nonce": "0x0000000000000000",
        "mixHash": digest(1, number),
        "sha3Uncles": "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
        "logsBloom": format!("0x{}", "0".repeat(512)),
        "transactionsRoot": digest(2, number),
        "stateRoot": digest(3, number),
        "receiptsRoot": digest(4, number),
        "withdrawalsRoot": digest(5, number),
        "parentBeaconBlockRoot": digest(6, number),
        "miner": "0x0000000000000000000000000000000000000000",
        "difficulty": "0x0",
        "extraData": "0x",
        "gasLimit": "0x1c9c380",
        "gasUsed": "0x0",
        "timestamp": quantity(GENESIS + number),
        "baseFeePerGas": "0x7",
        "blobGasUsed": "0x0",
        "excessBlobGas": "0x0",
    })
}

/// A block as a call returns it.
fn block_of(number: u64) -> Value {
    let mut block = header(number);
    let more = json!({
        "totalDifficulty": "0x0",
        "size": "0x220",
        "transactions": [],
        "uncles": [],
        "withdrawals": [],
    });
    if let (Value::Object(block), Value::Object(more)) = (&mut block, more) {
        block.extend(more);
    }
    block
}
