#include <zllm/text/utf8_repair.h>

#include <algorithm>

#include <zllm/base/utf8.h>

namespace zllm::text {
namespace {

// Bytes that one U+FFFD stands for at the start of a text that starts with no character.
std::size_t broken_length(std::string_view bytes) {
  std::size_t length = 1;
  while (length < 3 && length < bytes.size() &&
         utf8_incomplete_suffix(bytes.substr(0, length + 1)) == length + 1) {
    ++length;
  }
  return length;
}

}  // namespace

void append_repaired(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_sequence_length(bytes);
    if (length > 0) {
      out.append(bytes.substr(0, length));
      bytes.remove_prefix(length);
    } else {
      out.append(kReplacementCharacter);
      bytes.remove_prefix(broken_length(bytes));
    }
  }
}

}  // namespace zllm::text
