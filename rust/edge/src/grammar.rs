//! Grammars.
