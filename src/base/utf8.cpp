#include <zllm/base/utf8.h>

#include <algorithm>
#include <cstdint>

namespace zllm {
namespace {

struct Lead {
  std::size_t length;
  unsigned char second_min;
  unsigned char second_max;
};

// Table 3-7 of the Unicode Standard: the second byte's range depends on the first.
Lead lead_of(unsigned char byte) {
  if (byte < 0x80) {
    return {1, 0, 0};
  }
  if (byte >= 0xc2 && byte <= 0xdf) {
    return {2, 0x80, 0xbf};
  }
  if (byte >= 0xe0 && byte <= 0xef) {
    return {3, byte == 0xe0 ? static_cast<unsigned char>(0xa0) : static_cast<unsigned char>(0x80),
            byte == 0xed ? static_cast<unsigned char>(0x9f) : static_cast<unsigned char>(0xbf)};
  }
  if (byte >= 0xf0 && byte <= 0xf4) {
    return {4, byte == 0xf0 ? static_cast<unsigned char>(0x90) : static_cast<unsigned char>(0x80),
            byte == 0xf4 ? static_cast<unsigned char>(0x8f) : static_cast<unsigned char>(0xbf)};
  }
  return {0, 0, 0};
}

// How many bytes of text agree with the sequence that its first byte announces.
std::size_t agreeing_bytes(std::string_view text, const Lead& lead) {
  std::size_t agreeing = 1;
  while (agreeing < std::min(text.size(), lead.length)) {
    const auto byte = static_cast<unsigned char>(text[agreeing]);
    const unsigned char low = agreeing == 1 ? lead.second_min : 0x80;
    const unsigned char high = agreeing == 1 ? lead.second_max : 0xbf;
    if (byte < low || byte > high) {
      break;
    }
    ++agreeing;
  }
  return agreeing;
}

}  // namespace

std::size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  return lead.length != 0 && agreeing_bytes(text, lead) == lead.length ? lead.length : 0;
}

std::size_t utf8_incomplete_suffix(std::string_view text) {
  for (std::size_t count = std::min<std::size_t>(3, text.size()); count > 0; --count) {
    const std::string_view tail = text.substr(text.size() - count);
    const Lead lead = lead_of(static_cast<unsigned char>(tail[0]));
    if (lead.length > count && agreeing_bytes(tail, lead) == count) {
      return count;
    }
  }
  return 0;
}

std::size_t utf8_broken_length(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  const Lead lead = lead_of(static_cast<unsigned char>(text[0]));
  return lead.length == 0 ? 1 : agreeing_bytes(text, lead);
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace zllm
