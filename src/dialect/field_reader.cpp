#include <zllm/dialect/field_reader.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect {
namespace {

// Of names that a client makes up.
constexpr std::size_t kNameLimit = 64;

std::string allowed(NumberRange range) {
  return concat("must be ", range.excludes_least ? "above " : "at least ", range.least,
                " and at most ", range.most);
}

std::string allowed(IntegerRange range) {
  if (range.most == std::numeric_limits<std::int64_t>::max()) {
    return concat("must be at least ", range.least);
  }
  return concat("must be at least ", range.least, " and at most ", range.most);
}

bool as_whole(const Json& value, std::int64_t& out) {
  if (value.as_integer(out)) {
    return true;
  }
  constexpr double kExactLimit = 9007199254740992.0;  // 2^53: beyond, floats skip integers
  double number = 0;
  if (!value.as_number(number) || std::abs(number) > kExactLimit || std::trunc(number) != number) {
    return false;
  }
  out = static_cast<std::int64_t>(number);
  return true;
}

}  // namespace

std::string element_path(std::string_view array, std::size_t index) {
  return concat(array, "[", index, "]");
}

std::string member_path(std::string_view object, std::string_view name) {
  return object.empty() ? std::string(name) : concat(object, ".", name);
}

bool is_plain_name(std::string_view name) {
  constexpr std::string_view kSigns =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
  return !name.empty() && name.size() <= kNameLimit &&
         name.find_first_not_of(kSigns) == std::string_view::npos;
}

Failure wrong_type(std::string path, std::string_view expected, const Json& value) {
  std::string message = concat("Invalid type for ", quote(path.empty() ? "body" : path),
                               ": expected ", expected, ", but got ", value.type_name(), ".");
  return {FailureKind::invalid, std::move(message), std::move(path), "invalid_type"};
}

Failure wrong_value(std::string path, std::string_view reason) {
  std::string message = concat("Invalid value for ", quote(path), ": ", reason, ".");
  return {FailureKind::invalid, std::move(message), std::move(path), "invalid_value"};
}

Failure missing_field(std::string path) {
  std::string message = concat("Missing required parameter: ", quote(path), ".");
  return {FailureKind::invalid, std::move(message), std::move(path), "missing_required_parameter"};
}

Failure unsupported_field(std::string path, std::string_view reason) {
  std::string message = concat("Unsupported parameter: ", quote(path), ": ", reason, ".");
  return {FailureKind::unsupported, std::move(message), std::move(path), "unsupported_parameter"};
}

bool names_body_field(const Failure& failure) {
  return !failure.code.empty() && failure.kind != FailureKind::too_long;
}

Outcome<std::int64_t> read_integer(const Json& value, std::string path, IntegerRange range) {
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  if (!as_whole(value, integer)) {
    if (value.as_unsigned(natural)) {
      return wrong_value(std::move(path), allowed(range));
    }
    return wrong_type(std::move(path), "an integer", value);
  }
  if (integer < range.least || integer > range.most) {
    return wrong_value(std::move(path), concat(allowed(range), ", not ", integer));
  }
  return integer;
}

Outcome<double> read_number(const Json& value, std::string path, NumberRange range) {
  double number = 0;
  if (!value.as_number(number)) {
    return wrong_type(std::move(path), "a number", value);
  }
  const bool is_low = range.excludes_least ? number <= range.least : number < range.least;
  if (!std::isfinite(number) || is_low || number > range.most) {
    return wrong_value(std::move(path), concat(allowed(range), ", not ", number));
  }
  return number;
}

Outcome<std::string> read_text(const Json& value, std::string path) {
  const std::string *text = value.as_string();
  if (text == nullptr) {
    return wrong_type(std::move(path), "a string", value);
  }
  return *text;
}

FieldReader::FieldReader(const Json& object, std::string path)
    : object_(&object), path_(std::move(path)) {
  if (object.as_object() == nullptr) {
    fail(wrong_type(path_, "an object", object));
  }
}

bool FieldReader::has(std::string_view name) const {
  const Json *value = object_->find(name);
  return value != nullptr && !value->is_null();
}

const Json *FieldReader::take(std::string_view name) {
  taken_.push_back(name);
  const Json *value = ok() ? object_->find(name) : nullptr;
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::optional<bool> FieldReader::boolean(std::string_view name) {
  const Json *value = take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (value->as_bool() == nullptr) {
    fail(wrong_type(path_of(name), "a boolean", *value));
    return std::nullopt;
  }
  return *value->as_bool();
}

std::optional<std::string> FieldReader::text(std::string_view name) {
  const Json *value = take(name);
  return value == nullptr ? std::nullopt : keep(read_text(*value, path_of(name)));
}

std::optional<std::int64_t> FieldReader::integer(std::string_view name, IntegerRange range) {
  const Json *value = take(name);
  return value == nullptr ? std::nullopt : keep(read_integer(*value, path_of(name), range));
}

std::optional<double> FieldReader::number(std::string_view name, NumberRange range) {
  const Json *value = take(name);
  return value == nullptr ? std::nullopt : keep(read_number(*value, path_of(name), range));
}

std::optional<std::string_view> FieldReader::word(std::string_view name,
                                                  std::initializer_list<std::string_view> words) {
  const Json *value = take(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const std::string *text = value->as_string();
  if (text == nullptr) {
    fail(wrong_type(path_of(name), "a string", *value));
    return std::nullopt;
  }
  if (std::ranges::find(words, std::string_view(*text)) == words.end()) {
    std::string list;
    for (const std::string_view word : words) {
      list += concat(list.empty() ? "" : ", ", quote(word));
    }
    fail(name, concat(quote(*text), " is none of ", list));
    return std::nullopt;
  }
  return *text;
}

const Json::Array *FieldReader::array(std::string_view name, std::size_t limit) {
  const Json *value = take(name);
  if (value == nullptr) {
    return nullptr;
  }
  const Json::Array *array = value->as_array();
  if (array == nullptr) {
    fail(wrong_type(path_of(name), "an array", *value));
  } else if (array->size() > limit) {
    fail(name, concat("has ", array->size(), " elements, more than ", limit));
    return nullptr;
  }
  return array;
}

const Json *FieldReader::object(std::string_view name) {
  const Json *value = take(name);
  if (value != nullptr && value->as_object() == nullptr) {
    fail(wrong_type(path_of(name), "an object", *value));
    return nullptr;
  }
  return value;
}

std::string_view FieldReader::either(std::string_view name, std::string_view alias) {
  taken_.push_back(name);
  taken_.push_back(alias);
  if (!has(alias)) {
    return name;
  }
  if (has(name)) {
    fail(alias, concat("means the same as ", quote(name), ", which is given too"));
  }
  return alias;
}

void FieldReader::require(std::string_view name) {
  if (!has(name)) {
    fail(missing_field(path_of(name)));
  }
}

void FieldReader::refuse(std::string_view name, std::string_view reason) {
  if (take(name) != nullptr) {
    fail(unsupported_field(path_of(name), reason));
  }
}

void FieldReader::refuse(std::initializer_list<std::string_view> names, std::string_view reason) {
  for (const std::string_view name : names) {
    refuse(name, reason);
  }
}

void FieldReader::fail(Failure failure) {
  if (ok()) {
    failure_ = std::move(failure);
  }
}

Outcome<Done> FieldReader::finish() {
  if (!ok()) {
    return *failure_;
  }
  for (const auto& [key, value] : *object_->as_object()) {
    if (value.is_null() || std::ranges::find(taken_, std::string_view(key)) != taken_.end()) {
      continue;
    }
    const std::string_view name = std::string_view(key).substr(0, kNameLimit);
    std::string path = path_of(name);
    const std::string_view meant = nearest(name, taken_);
    const std::string hint = meant.empty() ? "" : concat(" Did you mean ", quote(meant), "?");
    std::string message = concat("Unknown parameter: ", quote(path), ".", hint);
    return Failure(FailureKind::invalid, std::move(message), std::move(path), "unknown_parameter");
  }
  return Done{};
}

}  // namespace zllm::dialect
