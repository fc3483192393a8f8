#include <zllm/weight/assembly/config_reader.h>

#include <zllm/base/text.h>

namespace zllm::weight {

std::string describe(const Json& value) {
  if (const std::string *text = value.as_string()) {
    return quote(*text);
  }
  if (value.as_array() != nullptr || value.as_object() != nullptr) {
    return concat("an ", value.type_name());
  }
  return value.dump();
}

std::string describe(IntegerRange range) {
  return concat("an integer from ", range.minimum, " to ", range.maximum);
}

std::string describe(NumberRange range) {
  return concat("a number from ", range.minimum, " to ", range.maximum);
}

Result<ConfigReader> ConfigReader::open(const Json& json, std::string_view where) {
  if (json.as_object() == nullptr) {
    return Error{Code::invalid_file,
                 concat(where, ": must be a JSON object, found ", describe(json))};
  }
  return ConfigReader(*json.as_object(), std::string(where), "");
}

const Json *ConfigReader::find(std::string_view key) const {
  for (const auto& [name, value] : *members_) {
    if (name == key) {
      return value.is_null() ? nullptr : &value;
    }
  }
  return nullptr;
}

bool ConfigReader::has(std::string_view key) const { return find(key) != nullptr; }

bool ConfigReader::states_null(std::string_view key) const {
  for (const auto& [name, value] : *members_) {
    if (name == key) {
      return value.is_null();
    }
  }
  return false;
}

const Json& ConfigReader::at(std::string_view key) const {
  const Json *value = find(key);
  ZLLM_CHECK(value != nullptr, "ConfigReader::at of an absent key");
  return *value;
}

Error ConfigReader::error(Code code, std::string_view key, std::string_view text) const {
  return Error{code, concat(where_, ": ", path_, key, " ", text)};
}

Error ConfigReader::expected(std::string_view key, std::string_view what, const Json& found) const {
  return error(Code::invalid_file, key, concat("must be ", what, ", found ", describe(found)));
}

Error ConfigReader::missing(std::string_view key) const {
  return error(Code::invalid_file, key, "is missing");
}

Result<std::optional<std::uint64_t>> ConfigReader::integer(std::string_view key,
                                                           IntegerRange range) const {
  const Json *value = find(key);
  if (value == nullptr) {
    return std::optional<std::uint64_t>();
  }
  std::uint64_t integer = 0;
  if (!value->as_unsigned(integer) || integer < range.minimum || integer > range.maximum) {
    return expected(key, describe(range), *value);
  }
  return std::optional(integer);
}

Result<std::uint64_t> ConfigReader::required_integer(std::string_view key,
                                                     IntegerRange range) const {
  ZLLM_TRY(const auto value, integer(key, range));
  if (!value) {
    return missing(key);
  }
  return *value;
}

Result<std::uint64_t> ConfigReader::integer_or(std::string_view key, IntegerRange range,
                                               std::uint64_t fallback) const {
  ZLLM_TRY(const auto value, integer(key, range));
  return value.value_or(fallback);
}

Result<std::optional<double>> ConfigReader::number(std::string_view key, NumberRange range) const {
  const Json *value = find(key);
  if (value == nullptr) {
    return std::optional<double>();
  }
  double number = 0;
  // Spelt so that NaN fails too.
  if (!value->as_number(number) || !(number >= range.minimum && number <= range.maximum)) {
    return expected(key, describe(range), *value);
  }
  return std::optional(number);
}

Result<double> ConfigReader::required_number(std::string_view key, NumberRange range) const {
  ZLLM_TRY(const auto value, number(key, range));
  if (!value) {
    return missing(key);
  }
  return *value;
}

Result<double> ConfigReader::number_or(std::string_view key, NumberRange range,
                                       double fallback) const {
  ZLLM_TRY(const auto value, number(key, range));
  return value.value_or(fallback);
}

Result<bool> ConfigReader::boolean_or(std::string_view key, bool fallback) const {
  const Json *value = find(key);
  if (value == nullptr) {
    return fallback;
  }
  if (value->as_bool() == nullptr) {
    return expected(key, "true or false", *value);
  }
  return *value->as_bool();
}

Result<std::optional<std::string_view>> ConfigReader::string(std::string_view key) const {
  const Json *value = find(key);
  if (value == nullptr) {
    return std::optional<std::string_view>();
  }
  if (value->as_string() == nullptr) {
    return expected(key, "a string", *value);
  }
  return std::optional<std::string_view>(*value->as_string());
}

Result<std::optional<std::vector<std::string_view>>> ConfigReader::strings(
    std::string_view key) const {
  const Json *value = find(key);
  if (value == nullptr) {
    return std::optional<std::vector<std::string_view>>();
  }
  if (value->as_array() == nullptr) {
    return expected(key, "an array of strings", *value);
  }
  std::vector<std::string_view> strings;
  for (const Json& item : *value->as_array()) {
    if (item.as_string() == nullptr) {
      return expected(key, "an array of strings", item);
    }
    strings.push_back(*item.as_string());
  }
  return std::optional(std::move(strings));
}

Result<std::optional<std::vector<double>>> ConfigReader::numbers(std::string_view key,
                                                                 std::size_t count,
                                                                 NumberRange range) const {
  const Json *value = find(key);
  if (value == nullptr) {
    return std::optional<std::vector<double>>();
  }
  const Json::Array *array = value->as_array();
  if (array == nullptr) {
    return expected(key, "an array of numbers", *value);
  }
  if (array->size() != count) {
    return error(Code::invalid_file, key,
                 concat("must have ", count, " entries, found ", array->size()));
  }
  std::vector<double> numbers;
  for (const Json& item : *array) {
    double number = 0;
    if (!item.as_number(number) || !(number >= range.minimum && number <= range.maximum)) {
      return error(Code::invalid_file, key,
                   concat("entry ", numbers.size(), " must be ", describe(range), ", found ",
                          describe(item)));
    }
    numbers.push_back(number);
  }
  return std::optional(std::move(numbers));
}

Result<std::optional<std::vector<std::uint64_t>>> ConfigReader::integers(std::string_view key,
                                                                         IntegerRange range) const {
  const Json *value = find(key);
  if (value == nullptr) {
    return std::optional<std::vector<std::uint64_t>>();
  }
  if (value->as_array() == nullptr) {
    return expected(key, "an array of integers", *value);
  }
  std::vector<std::uint64_t> integers;
  for (const Json& item : *value->as_array()) {
    std::uint64_t integer = 0;
    if (!item.as_unsigned(integer) || integer < range.minimum || integer > range.maximum) {
      return error(Code::invalid_file, key,
                   concat("entry ", integers.size(), " must be ", describe(range), ", found ",
                          describe(item)));
    }
    integers.push_back(integer);
  }
  return std::optional(std::move(integers));
}

Result<std::optional<ConfigReader>> ConfigReader::object(std::string_view key) const {
  const Json *value = find(key);
  if (value == nullptr) {
    return std::optional<ConfigReader>();
  }
  if (value->as_object() == nullptr) {
    return expected(key, "an object", *value);
  }
  return std::optional(ConfigReader(*value->as_object(), where_, concat(path_, key, ".")));
}

}  // namespace zllm::weight
