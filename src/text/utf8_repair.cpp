#include <zllm/text/utf8_repair.h>

#include <zllm/base/utf8.h>

namespace zllm::text {

void append_repaired(std::string& out, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_sequence_length(bytes);
    if (length > 0) {
      out.append(bytes.substr(0, length));
      bytes.remove_prefix(length);
    } else {
      out.append(kReplacementCharacter);
      bytes.remove_prefix(utf8_broken_length(bytes));
    }
  }
}

}  // namespace zllm::text
