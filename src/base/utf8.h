#pragma once

#include <cstddef>
#include <string_view>

namespace zllm {

// Bytes of the well-formed UTF-8 sequence that text starts with (no overlong forms, surrogates or
// values over U+10FFFF); 0 when there is none.
std::size_t utf8_sequence_length(std::string_view text);

// Bytes at the end of text that begin a sequence which more bytes could complete (0 to 3).
std::size_t utf8_incomplete_suffix(std::string_view text);

// Bytes that one U+FFFD stands for at the start of a text that starts with no character: the
// longest piece that begins one, else a single byte (Unicode 15, section 3.9).
std::size_t utf8_broken_length(std::string_view text);

bool is_valid_utf8(std::string_view text);

}  // namespace zllm
