#include <zllm/conformance/fields.h>

#include <algorithm>

#include <zllm/base/text.h>

namespace zllm::conformance {
namespace {

const Json::Array kNothing;

}  // namespace

Fields::Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (object.as_object() == nullptr) {
    status_ = Error{Code::invalid_file, concat(where_, ": must be an object")};
  }
}

void Fields::refuse(std::string_view key, std::string_view what) {
  if (status_.ok()) {
    status_ = Error{Code::invalid_file, concat(where_, ": ", quote(key), " ", what)};
  }
}

const Json *Fields::take(std::string_view key) {
  asked_.emplace_back(key);
  return object_.find(key);
}

const Json *Fields::need(std::string_view key) {
  const Json *const found = take(key);
  if (found == nullptr) {
    refuse(key, "is missing");
  }
  return found;
}

bool Fields::has(std::string_view key) { return take(key) != nullptr; }

std::uint32_t Fields::size(std::string_view key, std::uint32_t limit) {
  const Json *const found = need(key);
  std::uint64_t value = 1;
  if (found != nullptr && (!found->as_unsigned(value) || value == 0 || value > limit)) {
    refuse(key, concat("must be a number from 1 to ", limit));
    value = 1;
  }
  return static_cast<std::uint32_t>(value);
}

std::uint32_t Fields::size_or(std::string_view key, std::uint32_t fallback, std::uint32_t limit) {
  return take(key) == nullptr ? fallback : size(key, limit);
}

std::uint64_t Fields::number(std::string_view key, std::uint64_t fallback) {
  const Json *const found = take(key);
  std::uint64_t value = fallback;
  if (found != nullptr && !found->as_unsigned(value)) {
    refuse(key, "must be a number that is not negative");
  }
  return value;
}

double Fields::real(std::string_view key, double fallback) {
  const Json *const found = take(key);
  double value = fallback;
  if (found != nullptr && !found->as_number(value)) {
    refuse(key, "must be a number");
  }
  return value;
}

bool Fields::flag(std::string_view key) {
  const Json *const found = take(key);
  if (found != nullptr && found->as_bool() == nullptr) {
    refuse(key, "must be true or false");
  }
  return found != nullptr && found->as_bool() != nullptr && *found->as_bool();
}

std::string Fields::text(std::string_view key) {
  const Json *const found = need(key);
  if (found == nullptr || found->as_string() == nullptr) {
    refuse(key, "must be a string");
    return {};
  }
  return *found->as_string();
}

const Json::Array& Fields::list(std::string_view key) {
  const Json *const found = need(key);
  if (found == nullptr || found->as_array() == nullptr || found->as_array()->empty()) {
    refuse(key, "must be a list that is not empty");
    return kNothing;
  }
  return *found->as_array();
}

std::vector<std::uint64_t> Fields::numbers(std::string_view key) {
  std::vector<std::uint64_t> values;
  for (const Json& item : list(key)) {
    if (!item.as_unsigned(values.emplace_back())) {
      refuse(key, "must hold numbers that are not negative");
    }
  }
  return values;
}

std::vector<std::string> Fields::texts(std::string_view key) {
  const Json *const found = need(key);
  if (found != nullptr && found->as_string() != nullptr) {
    return {*found->as_string()};
  }
  std::vector<std::string> values;
  for (const Json& item : list(key)) {
    if (item.as_string() == nullptr) {
      refuse(key, "must hold strings");
      continue;
    }
    values.push_back(*item.as_string());
  }
  return values;
}

Status Fields::finish() {
  if (!status_.ok() || object_.as_object() == nullptr) {
    return status_;
  }
  for (const auto& [key, value] : *object_.as_object()) {
    if (std::ranges::find(asked_, key) == asked_.end()) {
      return Error{Code::invalid_file, concat(where_, ": unknown key ", quote(key))};
    }
  }
  return {};
}

}  // namespace zllm::conformance
