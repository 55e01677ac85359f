//! jsonrpsee's `RpcModule`, bare: it has no stdio server, so its raw dispatch runs in a line loop on one
//! thread with polled pipes and one write per burst, which is as good a home as it can get.

use jsonrpsee::RpcModule;
use jsonrpsee::types::ErrorObjectOwned;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut module = RpcModule::new(());
    module.register_async_method("add", |params, _, _| async move {
        let [a, b]: [i64; 2] = params.parse()?;
        Ok::<_, ErrorObjectOwned>(a + b)
    })?;
    module
        .register_async_method("echo", |params, _, _| async move { params.parse::<serde_json::Value>() })?;

    let input = pipe::OpenOptions::new().open_receiver("/dev/stdin")?;
    let mut output = pipe::OpenOptions::new().open_sender("/dev/stdout")?;
    let mut input = BufReader::with_capacity(64 * 1024, input);
    let (mut line, mut out) = (Vec::new(), Vec::new());
    while input.read_until(b'\n', &mut line).await? > 0 {
        let (response, _) = module.raw_json_request(std::str::from_utf8(&line)?, 1).await?;
        out.extend_from_slice(response.get().as_bytes());
        out.push(b'\n');
        line.clear();
        if memchr::memchr(b'\n', input.buffer()).is_none() || out.len() >= 64 * 1024 {
            output.write_all(&out).await?;
            out.clear();
        }
    }
    Ok(())
}
