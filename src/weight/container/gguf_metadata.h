#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <zllm/base/result.h>

namespace zllm::weight {

// A metadata value of a GGUF file. Strings point into the mapping of the file and may be any bytes.
struct GgufArray;
using GgufValue =
    std::variant<std::uint64_t, std::int64_t, double, bool, std::string_view, GgufArray>;

// Homogeneous, but for the items of inner arrays. Integers of all widths are widened.
struct GgufArray {
  std::variant<std::vector<std::uint64_t>, std::vector<std::int64_t>, std::vector<double>,
               std::vector<bool>, std::vector<std::string_view>, std::vector<GgufArray>>
      items;
  std::size_t size() const;
};

// Key-value pairs in file order; keys are unique and not empty.
class GgufMetadata {
 public:
  Status add(std::string_view key, GgufValue value);
  const GgufValue *find(std::string_view key) const;
  const std::vector<std::pair<std::string_view, GgufValue>>& items() const { return items_; }

  // Typed access: nothing when the key is absent, an error naming the key when it has another type
  // or does not fit (integers of every width and sign are accepted where the value fits).
  Result<std::optional<std::uint64_t>> unsigned_integer(std::string_view key) const;
  Result<std::optional<double>> number(std::string_view key) const;  // a finite float
  Result<std::optional<bool>> boolean(std::string_view key) const;
  Result<std::optional<std::string_view>> string(std::string_view key) const;
  Result<std::optional<std::vector<std::string_view>>> strings(std::string_view key) const;
  Result<std::optional<std::vector<std::int64_t>>> integers(std::string_view key) const;
  Result<std::optional<std::vector<double>>> numbers(std::string_view key) const;
  Result<std::optional<std::vector<bool>>> booleans(std::string_view key) const;

 private:
  std::vector<std::pair<std::string_view, GgufValue>> items_;
  std::unordered_map<std::string_view, std::size_t> by_key_;
};

// "an unsigned integer", "an array of strings": what a value is, for messages.
std::string_view gguf_type_text(const GgufValue& value);

}  // namespace zllm::weight
