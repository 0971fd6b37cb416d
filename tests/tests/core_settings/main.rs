//! The core's settings and words: what is refused and how, what is read back, what is printed.

mod corners;
mod read_back;
mod refused;
mod spans;
mod words;
