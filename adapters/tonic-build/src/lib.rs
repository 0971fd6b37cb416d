#![doc = include_str!("../README.md")]
//!
//! # What is written
//!
//! ```
//! pub mod pb {
//!     # /*
//!     tonic::include_proto!("payments.v1");
//!     # */
//!     # const ROWS: &[evenkeel_tonic::MethodInfo] = &[
//!     #     evenkeel_tonic::MethodInfo::new(
//!     #         "/payments.v1.Payments/GetQuote",
//!     #         evenkeel_tonic::MethodKind::Unary,
//!     #         evenkeel_tonic::Idempotency::NoSideEffects,
//!     #     ),
//!     # ];
//!     # pub static METHODS: evenkeel_tonic::MethodTable = evenkeel_tonic::MethodTable::new(ROWS);
//! }
//!
//! let quote = pb::METHODS.get("/payments.v1.Payments/GetQuote").unwrap();
//! assert!(quote.is_idempotent());
//! ```
//!
//! # One table per package
//!
//! tonic writes one file per protobuf package, and the table goes into that file: it needs no
//! second `include!`, is found beside the client it belongs to, and covers all services of the
//! package, so a client of several of them needs one name. Programs with clients of several
//! packages put their tables together with `MethodTable::merged`. A package without services has
//! no table.
//!
//! # Other ways to get there
//!
//! | you have | use |
//! |---|---|
//! | settings for tonic or prost | [`Builder::tonic`], [`Builder::prost`] |
//! | a descriptor set, from `protoc` or `buf` | [`Builder::compile_fds`] |
//! | a build that drives `prost_build` itself | [`WithMethods`] around its service generator |
//! | a build you cannot change, but its descriptor set | [`write_method_table`] |
//! | descriptor bytes in the running program | `evenkeel_tonic::MethodTable::from_descriptor_bytes` |

extern crate alloc;

mod builder;
mod generator;
mod table;

pub use builder::{Builder, configure};
pub use generator::WithMethods;
pub use table::{method_table, write_method_table};

pub use {prost_build, prost_types, tonic_prost_build};
