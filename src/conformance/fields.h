#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>

namespace zllm::conformance {

// Reads the members of one JSON object. The first thing that is wrong is kept and told by finish(),
// which also refuses members that nobody asked for; until then readers give harmless values.
class Fields {
 public:
  Fields(const Json& object, std::string where);

  bool has(std::string_view key);
  // At least 1 and at most the limit.
  std::uint32_t size(std::string_view key, std::uint32_t limit = kSizeLimit);
  std::uint32_t size_or(std::string_view key, std::uint32_t fallback,
                        std::uint32_t limit = kSizeLimit);
  std::uint64_t number(std::string_view key, std::uint64_t fallback);
  double real(std::string_view key, double fallback);
  bool flag(std::string_view key);  // absent = false
  std::string text(std::string_view key);
  std::vector<std::uint64_t> numbers(std::string_view key);
  // A list of texts, or one text alone.
  std::vector<std::string> texts(std::string_view key);
  const Json::Array& list(std::string_view key);

  template <class Value>
  using Names = std::span<const std::pair<std::string_view, Value>>;
  // The value of a name out of a fixed set; absent = the first.
  template <class Value>
  Value choice(std::string_view key, Names<Value> names) {
    const Json *const found = take(key);
    if (found == nullptr) {
      return names.front().second;
    }
    std::string known;
    for (const auto& [name, value] : names) {
      if (found->as_string() != nullptr && *found->as_string() == name) {
        return value;
      }
      known += known.empty() ? "" : ", ";
      known += name;
    }
    refuse(key, "must be one of " + known);
    return names.front().second;
  }

  void refuse(std::string_view key, std::string_view what);
  const std::string& where() const { return where_; }
  Status finish();

  // Cases are small; files that say otherwise are mistaken.
  static constexpr std::uint32_t kSizeLimit = 8192;

 private:
  const Json *take(std::string_view key);
  const Json *need(std::string_view key);

  const Json& object_;
  std::string where_;
  std::vector<std::string> asked_;
  Status status_;
};

}  // namespace zllm::conformance
