#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/json.h>
#include <zllm/base/result.h>
#include <zllm/weight/assembly/limits.h>

namespace zllm::weight {

// Typed, range-checked access to one object of a JSON configuration. A key that is null counts as
// absent. Errors name the file, the path and the key, say what is allowed and what was found.
// Refers to the Json, which must outlive it.
class ConfigReader {
 public:
  // `where` is the file's name, "config.json". An error when the text is no object.
  static Result<ConfigReader> open(const Json& json, std::string_view where);

  bool has(std::string_view key) const;          // present and not null
  bool states_null(std::string_view key) const;  // present and null

  Result<std::optional<std::uint64_t>> integer(std::string_view key, IntegerRange range) const;
  Result<std::uint64_t> required_integer(std::string_view key, IntegerRange range) const;
  Result<std::uint64_t> integer_or(std::string_view key, IntegerRange range,
                                   std::uint64_t fallback) const;
  // Finite by construction of the range.
  Result<std::optional<double>> number(std::string_view key, NumberRange range) const;
  Result<double> required_number(std::string_view key, NumberRange range) const;
  Result<double> number_or(std::string_view key, NumberRange range, double fallback) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  Result<std::optional<std::string_view>> string(std::string_view key) const;
  Result<std::optional<std::vector<std::string_view>>> strings(std::string_view key) const;
  // An array of exactly `count` numbers, each within the range.
  Result<std::optional<std::vector<double>>> numbers(std::string_view key, std::size_t count,
                                                     NumberRange range) const;
  // An array of integers, each within the range.
  Result<std::optional<std::vector<std::uint64_t>>> integers(std::string_view key,
                                                             IntegerRange range) const;
  Result<std::optional<ConfigReader>> object(std::string_view key) const;

  const Json::Object& members() const { return *members_; }
  // The value of a key that `has`.
  const Json& at(std::string_view key) const;
  // "where: path.key: text" for checks that concern one key.
  Error error(Code code, std::string_view key, std::string_view text) const;

 private:
  ConfigReader(const Json::Object& members, std::string where, std::string path)
      : members_(&members), where_(std::move(where)), path_(std::move(path)) {}

  const Json *find(std::string_view key) const;  // null when absent or null
  Error expected(std::string_view key, std::string_view what, const Json& found) const;
  Error missing(std::string_view key) const;

  const Json::Object *members_;
  std::string where_;
  std::string path_;  // "" or "rope_parameters."
};

// A value of a configuration for an error message, bounded in length.
std::string describe(const Json& value);
std::string describe(IntegerRange range);
std::string describe(NumberRange range);

}  // namespace zllm::weight
