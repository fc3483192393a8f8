#include <zllm/server/query.h>

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace zllm::server {
namespace {

constexpr std::size_t kEscapeLength = 3;  // %XX
constexpr int kHexadecimal = 16;

std::string decode(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return decode_escapes(spaced);
}

}  // namespace

std::string decode_escapes(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '%' && i + kEscapeLength <= text.size()) {
      const char *begin = text.data() + i + 1;
      const char *end = begin + kEscapeLength - 1;
      if (std::from_chars(begin, end, value, kHexadecimal).ptr == end) {
        decoded += static_cast<char>(static_cast<unsigned char>(value));
        i += kEscapeLength - 1;
        continue;
      }
    }
    decoded += text[i];
  }
  return decoded;
}

std::vector<std::pair<std::string, std::string>> parse_query(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> parameters;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(part.size() < query.size() ? part.size() + 1 : part.size());
    if (!part.empty()) {
      const std::size_t equals = part.find('=');
      parameters.emplace_back(
          decode(part.substr(0, equals)),
          equals == std::string_view::npos ? std::string() : decode(part.substr(equals + 1)));
    }
  }
  return parameters;
}

}  // namespace zllm::server
