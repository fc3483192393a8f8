#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/edge/edge.h>

// Owners and conversions for the C ABI of rust/edge.
namespace zllm::edge {

class Bytes {
 public:
  Bytes() = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() { edge_bytes_free(raw_); }

  EdgeBytes *out() { return &raw_; }
  std::string_view view() const {
    return {reinterpret_cast<const char *>(raw_.data), raw_.data == nullptr ? 0 : raw_.size};
  }

 private:
  EdgeBytes raw_{};
};

class Words {
 public:
  Words() = default;
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words() { edge_words_free(raw_); }

  EdgeWords *out() { return &raw_; }
  const std::uint32_t *begin() const { return raw_.data; }
  const std::uint32_t *end() const { return raw_.data + (raw_.data == nullptr ? 0 : raw_.size); }

 private:
  EdgeWords raw_{};
};

inline EdgeSlice slice(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t *>(text.data()), text.size()};
}

// The outcome of an entry of the ABI as a Status.
Status to_status(std::int32_t code, const Bytes& message);

// Calls an entry whose last parameter is the message: call(edge_x, a, b).
template <class Entry, class... Arguments>
Status call(Entry entry, Arguments... arguments) {
  Bytes message;
  const std::int32_t code = entry(arguments..., message.out());
  return to_status(code, message);
}

}  // namespace zllm::edge
