#![no_main]

#[path = "../../targets/fast_path.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
