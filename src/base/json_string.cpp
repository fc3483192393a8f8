#include <array>
#include <cstdint>

#include <zllm/base/json.h>
#include <zllm/base/utf8.h>

namespace zllm {

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      switch (byte) {
        case '"':
          out += "\\\"";
          break;
        case '\\':
          out += "\\\\";
          break;
        case '\n':
          out += "\\n";
          break;
        case '\r':
          out += "\\r";
          break;
        case '\t':
          out += "\\t";
          break;
        default:
          if (byte < 0x20 || byte == 0x7f) {
            out += "\\u00";
            out += kHex[byte >> 4];
            out += kHex[byte & 15];
          } else {
            out += static_cast<char>(byte);
          }
      }
      ++i;
      continue;
    }
    const std::size_t length = utf8_sequence_length(text.substr(i));
    if (length == 0) {
      out += "\xef\xbf\xbd";
      i += utf8_broken_length(text.substr(i));
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  out += '"';
}

}  // namespace zllm
