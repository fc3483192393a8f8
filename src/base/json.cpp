#include <zllm/base/json.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <unordered_set>

#include <simdjson.h>

#include <zllm/base/text.h>

namespace zllm {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// Objects up to this size are searched for duplicates by comparison, larger ones by hashing.
constexpr std::size_t kLinearSearchLimit = 16;

Status refuse_duplicates(const Json::Object& object, std::string_view what) {
  const auto duplicate = [&](std::string_view key) {
    return Error{Code::invalid_file, concat(what, ": duplicate key ", quote(key))};
  };
  if (object.size() <= kLinearSearchLimit) {
    for (std::size_t i = 1; i < object.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (object[i].first == object[j].first) {
          return duplicate(object[i].first);
        }
      }
    }
    return {};
  }
  std::unordered_set<std::string_view> seen;
  seen.reserve(object.size());
  for (const auto& [key, value] : object) {
    if (!seen.insert(key).second) {
      return duplicate(key);
    }
  }
  return {};
}

Result<Json> convert(element source, std::string_view what) {
  switch (source.type()) {
    case element_type::NULL_VALUE:
      return Json();
    case element_type::BOOL:
      return Json(bool(source));
    case element_type::INT64:
      return Json(std::int64_t(source));
    case element_type::UINT64:
      return Json(std::uint64_t(source));
    case element_type::DOUBLE:
      return Json(double(source));
    case element_type::STRING:
      return Json(std::string(std::string_view(source)));
    case element_type::ARRAY: {
      Json::Array array;
      for (element child : simdjson::dom::array(source)) {
        ZLLM_TRY(auto value, convert(child, what));
        array.push_back(std::move(value));
      }
      return Json(std::move(array));
    }
    case element_type::OBJECT: {
      Json::Object object;
      for (auto [key, child] : simdjson::dom::object(source)) {
        ZLLM_TRY(auto value, convert(child, what));
        object.emplace_back(std::string(key), std::move(value));
      }
      ZLLM_TRY(refuse_duplicates(object, what));
      return Json(std::move(object));
    }
  }
  return Error{Code::internal, concat(what, ": JSON element of unknown type")};
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether an integer's text is beyond 64 bits.
bool is_wide_integer(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (text.size() < 19 || !std::ranges::all_of(text.substr(is_negative ? 1 : 0), is_digit)) {
    return false;
  }
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  const char *const begin = text.data();
  const char *const end = begin + text.size();
  const auto result =
      is_negative ? std::from_chars(begin, end, integer) : std::from_chars(begin, end, natural);
  return result.ec == std::errc::result_out_of_range;
}

// Spells integers beyond 64 bits as floats. JSON allows them and published files have them, such
// as 10^30 for "no limit", but the library refuses them.
std::string widened(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        i += text[i] == '\\' ? 1U : 0U;
      }
      i = std::min(i + 1, text.size());
      out += text.substr(begin, i - begin);
    } else if (text[i] == '-' || is_digit(text[i])) {
      i = std::min(text.find_first_not_of("+-.0123456789eE", i), text.size());
      out += text.substr(begin, i - begin);
      out += is_wide_integer(text.substr(begin, i - begin)) ? ".0" : "";
    } else {
      out += text[i++];
    }
  }
  return out;
}

void dump_to(const Json& json, std::string& out) {
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  double number = 0;
  if (json.is_null()) {
    out += "null";
  } else if (const bool *boolean = json.as_bool()) {
    out += *boolean ? "true" : "false";
  } else if (const std::string *string = json.as_string()) {
    append_json_string(out, *string);
  } else if (json.as_integer(integer)) {
    out += to_text(integer);
  } else if (json.as_unsigned(natural)) {
    out += to_text(natural);
  } else if (json.as_number(number)) {
    // JSON has no spelling for the others.
    out += std::isfinite(number) ? to_text(number) : std::string("null");
  } else if (const Json::Array *array = json.as_array()) {
    out += '[';
    for (std::size_t i = 0; i < array->size(); ++i) {
      out += i == 0 ? "" : ",";
      dump_to((*array)[i], out);
    }
    out += ']';
  } else if (const Json::Object *object = json.as_object()) {
    out += '{';
    for (std::size_t i = 0; i < object->size(); ++i) {
      out += i == 0 ? "" : ",";
      append_json_string(out, (*object)[i].first);
      out += ':';
      dump_to((*object)[i].second, out);
    }
    out += '}';
  }
}

}  // namespace

Result<Json> Json::parse(std::string_view text, std::string_view what) {
  // The library copies from the text even when it is empty and its pointer null.
  if (text.empty()) {
    return Error{Code::invalid_file, concat(what, ": not valid JSON: the text is empty")};
  }
  simdjson::dom::parser parser;
  if (const auto error = parser.allocate(text.size(), kJsonDepthLimit)) {
    return Error{Code::resource_exhausted, concat(what, ": ", simdjson::error_message(error))};
  }
  element root;
  auto error = parser.parse(text.data(), text.size()).get(root);
  if (error) {
    if (const std::string again = widened(text); again.size() != text.size()) {
      error = parser.allocate(again.size(), kJsonDepthLimit);
      error = error ? error : parser.parse(again).get(root);
    }
  }
  if (error) {
    return Error{Code::invalid_file,
                 concat(what, ": not valid JSON: ", simdjson::error_message(error))};
  }
  return convert(root, what);
}

bool Json::as_integer(std::int64_t& out) const {
  if (const auto *value = std::get_if<std::int64_t>(&value_)) {
    out = *value;
    return true;
  }
  const auto *natural = std::get_if<std::uint64_t>(&value_);
  if (natural != nullptr && *natural <= std::uint64_t(std::numeric_limits<std::int64_t>::max())) {
    out = static_cast<std::int64_t>(*natural);
    return true;
  }
  return false;
}

bool Json::as_unsigned(std::uint64_t& out) const {
  if (const auto *value = std::get_if<std::uint64_t>(&value_)) {
    out = *value;
    return true;
  }
  const auto *integer = std::get_if<std::int64_t>(&value_);
  if (integer != nullptr && *integer >= 0) {
    out = static_cast<std::uint64_t>(*integer);
    return true;
  }
  return false;
}

bool Json::as_number(double& out) const {
  if (const auto *value = std::get_if<double>(&value_)) {
    out = *value;
  } else if (const auto *integer = std::get_if<std::int64_t>(&value_)) {
    out = static_cast<double>(*integer);
  } else if (const auto *natural = std::get_if<std::uint64_t>(&value_)) {
    out = static_cast<double>(*natural);
  } else {
    return false;
  }
  return true;
}

const Json *Json::find(std::string_view key) const {
  if (const Object *object = as_object()) {
    for (const auto& [name, value] : *object) {
      if (name == key) {
        return &value;
      }
    }
  }
  return nullptr;
}

std::string_view Json::type_name() const {
  switch (value_.index()) {
    case 0:
      return "null";
    case 1:
      return "boolean";
    case 5:
      return "string";
    case 6:
      return "array";
    case 7:
      return "object";
    default:
      return "number";
  }
}

std::string Json::dump() const {
  std::string out;
  dump_to(*this, out);
  return out;
}

}  // namespace zllm
