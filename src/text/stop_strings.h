#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/result.h>

namespace zllm::text {

constexpr std::size_t kMaxStopStrings = 64;        // far more than the four of the common API
constexpr std::size_t kMaxStopStringBytes = 1024;  // each; bounds what is held back

// Looks for stop strings in text that comes in pieces, whatever the borders of the pieces. Text
// goes out as soon as it cannot be part of a stop string any more: only an end that is a real
// prefix of one is held back.
class StopStrings {
 public:
  // Refuses strings that are empty, too long or not UTF-8, and too many of them.
  static Result<StopStrings> create(std::vector<std::string> stops);

  // Text that may go out now. After a stop nothing goes out any more.
  std::string add(std::string_view piece);
  // The end of the text without a stop: what was held back.
  std::string flush();

  // The stop string whose end came first in the text; of several that end there the longest.
  bool stopped() const { return found_.has_value(); }
  const std::string& stop() const;

 private:
  explicit StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  // Bytes at the end of the text that may become a stop string.
  std::size_t possible_suffix(std::string_view text) const;

  std::vector<std::string> stops_;
  std::string held_;
  std::optional<std::size_t> found_;
};

}  // namespace zllm::text
