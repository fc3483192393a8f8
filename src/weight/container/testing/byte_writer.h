#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace zllm::weight::testing {

// The bytes of a number as they lie in a file.
template <class T>
std::string raw(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

// A GGUF string: its length and its bytes.
inline std::string gguf_string(std::string_view text) {
  return raw<std::uint64_t>(text.size()).append(text);
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace zllm::weight::testing
