#include <zllm/server/api_keys.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/base/text_file.h>

namespace zllm::server {
namespace {

constexpr std::size_t kKeyFileLimit = std::size_t{1} << 20;  // thousands of keys

// Looks at every byte of what was presented, whatever the key is.
bool equals(std::string_view key, std::string_view presented) {
  unsigned char difference = key.size() == presented.size() ? 0 : 1;
  for (std::size_t i = 0; i < presented.size(); ++i) {
    const auto mine = static_cast<unsigned char>(key[i % key.size()]);
    difference |= static_cast<unsigned char>(mine ^ static_cast<unsigned char>(presented[i]));
  }
  return difference == 0;
}

bool is_visible(char c) { return c > ' ' && c < '\x7f'; }

}  // namespace

Result<ApiKeys> ApiKeys::create(std::vector<std::string> keys) {
  for (const std::string& key : keys) {
    if (key.empty() || key.size() > kLongestKey || !std::ranges::all_of(key, is_visible)) {
      return Error{Code::invalid_argument, concat("an API key must be 1 to ", kLongestKey,
                                                  " visible ASCII characters without spaces")};
    }
  }
  return ApiKeys(std::move(keys));
}

std::optional<std::string> ApiKeys::caller(std::string_view presented) const {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (equals(keys_[i], presented)) {
      found = i;
    }
  }
  return found ? std::optional(concat("key-", *found)) : std::nullopt;
}

Result<std::vector<std::string>> read_key_file(const std::string& path) {
  ZLLM_TRY(const std::string text, read_text_file(path, kKeyFileLimit));
  std::vector<std::string> keys;
  std::size_t start = 0;
  while (start < text.size()) {
    std::size_t end = text.find('\n', start);
    end = end == std::string::npos ? text.size() : end;
    std::string line = text.substr(start, end - start);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ' || line.back() == '\t')) {
      line.pop_back();
    }
    if (!line.empty() && line.front() != '#') {
      keys.push_back(std::move(line));
    }
    start = end + 1;
  }
  if (keys.empty()) {
    return Error{Code::invalid_argument, concat(path, ": holds no API key")};
  }
  return keys;
}

}  // namespace zllm::server
