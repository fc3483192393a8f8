//! What zllm takes from Rust, behind one hand-written C ABI (src/edge/edge.h is its C side).
//! Every entry runs inside `abi::guarded`, so no panic crosses the border.
#![deny(unsafe_op_in_unsafe_fn)]

pub mod abi;
#[cfg(feature = "tokenizers")]
mod bpe;
#[cfg(feature = "template")]
mod chat_template;
#[cfg(feature = "grammar")]
mod grammar;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "tokenizers")]
mod pre_tokenizer;
#[cfg(feature = "template")]
mod template;
#[cfg(feature = "tokenizers")]
mod token_bytes;
#[cfg(feature = "tokenizers")]
mod tokenizer;
#[cfg(feature = "tokenizers")]
mod tokenizer_abi;
#[cfg(feature = "tokenizers")]
mod tokenizer_json;
#[cfg(feature = "tokenizers")]
mod vocabulary;
