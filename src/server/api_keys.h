#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>

namespace zllm::server {

constexpr std::size_t kLongestKey = 4096;

// The keys that open the routes. Comparison takes the same time whatever is presented.
class ApiKeys {
 public:
  // Refuses empty and overlong keys, and keys with spaces or control characters.
  static Result<ApiKeys> create(std::vector<std::string> keys);

  bool empty() const { return keys_.empty(); }
  // Which key it is, by a name that gives nothing of it away; nothing when it is none.
  std::optional<std::string> caller(std::string_view presented) const;

 private:
  explicit ApiKeys(std::vector<std::string> keys) : keys_(std::move(keys)) {}
  std::vector<std::string> keys_;
};

// One key a line; empty lines and lines that begin with # are passed over. Errors name the file.
Result<std::vector<std::string>> read_key_file(const std::string& path);

}  // namespace zllm::server
