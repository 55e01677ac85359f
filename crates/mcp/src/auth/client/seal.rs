//! A file that only whoever has a key can read: AES-256-GCM by `ring`, as a document of JSON.

use std::io;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use serde::{Deserialize, Serialize};

use crate::auth::encoding::{base64url, from_base64url};

/// Joins the text to its purpose: what is sealed for something else with the same key does not open here.
const PURPOSE: &[u8] = b"sabir credentials";

/// `{"sealed": "…"}`: the nonce and what it seals, in base64url.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sealed {
    sealed: String,
}

impl Sealed {
    /// `None` if the text is something else.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}

pub(super) struct SealingKey(LessSafeKey);

impl SealingKey {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let key = UnboundKey::new(&AES_256_GCM, key).expect("a key of AES-256 has 32 bytes");
        SealingKey(LessSafeKey::new(key))
    }

    /// A fresh nonce each time: a file is changed far less than 2^32 times.
    pub(super) fn seal(&self, mut bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| io::Error::other("the system has no random numbers"))?;
        self.0
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(PURPOSE), &mut bytes)
            .map_err(|_| io::Error::other("it cannot be sealed"))?;
        let sealed = base64url([&nonce[..], &bytes].concat());
        Ok(serde_json::to_vec_pretty(&Sealed { sealed })?)
    }

    /// `None` if it was sealed with another key, or changed.
    pub(super) fn open(&self, sealed: &Sealed) -> Option<Vec<u8>> {
        let bytes = from_base64url(&sealed.sealed)?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut sealed = sealed.to_vec();
        let opened = self.0.open_in_place(nonce, Aad::from(PURPOSE), &mut sealed).ok()?;
        Some(opened.to_vec())
    }
}
