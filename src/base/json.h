#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <zllm/base/result.h>

namespace zllm {

// An owned, immutable JSON value. Object members keep the order of the text.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;

  Json() = default;  // null
  explicit Json(bool value) : value_(value) {}
  explicit Json(std::int64_t value) : value_(value) {}
  explicit Json(std::uint64_t value) : value_(value) {}
  explicit Json(double value) : value_(value) {}
  explicit Json(std::string value) : value_(std::move(value)) {}
  explicit Json(Array value) : value_(std::move(value)) {}
  explicit Json(Object value) : value_(std::move(value)) {}

  // Parses one complete document of valid UTF-8. Refused: duplicate keys of one object, nesting
  // deeper than kJsonDepthLimit, trailing text. Integers beyond 64 bits become floats. `what` names
  // the text in errors.
  static Result<Json> parse(std::string_view text, std::string_view what);

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  // Each is null when the value has another type. Numbers: as_integer and as_unsigned only when the
  // value is exactly that; as_number for every number.
  const bool *as_bool() const { return std::get_if<bool>(&value_); }
  const std::string *as_string() const { return std::get_if<std::string>(&value_); }
  const Array *as_array() const { return std::get_if<Array>(&value_); }
  const Object *as_object() const { return std::get_if<Object>(&value_); }
  bool as_integer(std::int64_t& out) const;
  bool as_unsigned(std::uint64_t& out) const;
  bool as_number(double& out) const;

  // The member of an object; null when absent or when this is no object.
  const Json *find(std::string_view key) const;
  // "null", "boolean", "number", "string", "array" or "object".
  std::string_view type_name() const;
  // Compact text that parses back to the same value.
  std::string dump() const;

 private:
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array,
               Object>
      value_;
};

constexpr std::size_t kJsonDepthLimit = 200;  // deeper than any known config, schema or header

// Appends text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace zllm
