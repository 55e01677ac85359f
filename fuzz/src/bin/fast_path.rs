#![no_main]

#[path = "../../targets/http_head.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
