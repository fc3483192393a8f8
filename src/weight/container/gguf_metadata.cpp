#include <zllm/weight/container/gguf_metadata.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <zllm/base/checked.h>
#include <zllm/base/text.h>

namespace zllm::weight {
namespace {

Error key_error(std::string_view key, std::string_view problem) {
  return Error{Code::invalid_file, concat("metadata key ", quote(key), " ", problem)};
}

Error wrong_type(std::string_view key, const GgufValue& value, std::string_view wanted) {
  return key_error(key, concat("is ", gguf_type_text(value), ", not ", wanted));
}

// The value as a T of the variant; nothing when absent.
template <class T>
Result<std::optional<T>> exactly(const GgufMetadata& metadata, std::string_view key,
                                 std::string_view wanted) {
  const GgufValue *value = metadata.find(key);
  if (value == nullptr) {
    return std::optional<T>();
  }
  if (const T *found = std::get_if<T>(value)) {
    return std::optional<T>(*found);
  }
  return wrong_type(key, *value, wanted);
}

// The array's items as they are; nothing when absent.
template <class T>
Result<std::optional<std::vector<T>>> exact_items(const GgufMetadata& metadata,
                                                  std::string_view key, std::string_view wanted) {
  const GgufValue *value = metadata.find(key);
  if (value == nullptr) {
    return std::optional<std::vector<T>>();
  }
  const auto *array = std::get_if<GgufArray>(value);
  const auto *items = array == nullptr ? nullptr : std::get_if<std::vector<T>>(&array->items);
  if (items == nullptr) {
    return wrong_type(key, *value, wanted);
  }
  return std::optional<std::vector<T>>(*items);
}

}  // namespace

std::size_t GgufArray::size() const {
  return std::visit([](const auto& vector) { return vector.size(); }, items);
}

Status GgufMetadata::add(std::string_view key, GgufValue value) {
  if (key.empty()) {
    return Error{Code::invalid_file, concat("metadata key ", items_.size(), " has no name")};
  }
  if (!by_key_.emplace(key, items_.size()).second) {
    return key_error(key, "is there twice");
  }
  items_.emplace_back(key, std::move(value));
  return {};
}

const GgufValue *GgufMetadata::find(std::string_view key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : &items_[found->second].second;
}

Result<std::optional<std::uint64_t>> GgufMetadata::unsigned_integer(std::string_view key) const {
  const GgufValue *value = find(key);
  if (value == nullptr) {
    return std::optional<std::uint64_t>();
  }
  if (const auto *natural = std::get_if<std::uint64_t>(value)) {
    return std::optional(*natural);
  }
  const auto *integer = std::get_if<std::int64_t>(value);
  if (integer == nullptr) {
    return wrong_type(key, *value, "an integer");
  }
  if (*integer < 0) {
    return key_error(key, concat("is negative: ", *integer));
  }
  return std::optional(static_cast<std::uint64_t>(*integer));
}

Result<std::optional<double>> GgufMetadata::number(std::string_view key) const {
  const GgufValue *value = find(key);
  if (value == nullptr) {
    return std::optional<double>();
  }
  // No integers: nothing writes them here, so they are rather the bits of a float, mistyped.
  const auto *number = std::get_if<double>(value);
  if (number == nullptr) {
    return wrong_type(key, *value, "a float");
  }
  if (!std::isfinite(*number)) {
    return key_error(key, concat("is not finite: ", *number));
  }
  return std::optional(*number);
}

Result<std::optional<bool>> GgufMetadata::boolean(std::string_view key) const {
  return exactly<bool>(*this, key, "a bool");
}

Result<std::optional<std::string_view>> GgufMetadata::string(std::string_view key) const {
  return exactly<std::string_view>(*this, key, "a string");
}

Result<std::optional<std::vector<std::string_view>>> GgufMetadata::strings(
    std::string_view key) const {
  return exact_items<std::string_view>(*this, key, "an array of strings");
}

Result<std::optional<std::vector<bool>>> GgufMetadata::booleans(std::string_view key) const {
  return exact_items<bool>(*this, key, "an array of bools");
}

Result<std::optional<std::vector<std::int64_t>>> GgufMetadata::integers(
    std::string_view key) const {
  const GgufValue *value = find(key);
  if (value == nullptr) {
    return std::optional<std::vector<std::int64_t>>();
  }
  const auto *array = std::get_if<GgufArray>(value);
  if (array != nullptr) {
    if (const auto *integers = std::get_if<std::vector<std::int64_t>>(&array->items)) {
      return std::optional(*integers);
    }
    if (const auto *naturals = std::get_if<std::vector<std::uint64_t>>(&array->items)) {
      std::vector<std::int64_t> items(naturals->size());
      for (std::size_t i = 0; i < items.size(); ++i) {
        const auto item = checked_cast<std::int64_t>((*naturals)[i]);
        if (!item) {
          return key_error(key, concat("has too large an item ", i, ": ", (*naturals)[i]));
        }
        items[i] = *item;
      }
      return std::optional(std::move(items));
    }
  }
  return wrong_type(key, *value, "an array of integers");
}

Result<std::optional<std::vector<double>>> GgufMetadata::numbers(std::string_view key) const {
  const GgufValue *value = find(key);
  if (value == nullptr) {
    return std::optional<std::vector<double>>();
  }
  const auto *array = std::get_if<GgufArray>(value);
  if (array == nullptr) {
    return wrong_type(key, *value, "an array of numbers");
  }
  std::vector<double> items;
  if (const auto *numbers = std::get_if<std::vector<double>>(&array->items)) {
    items = *numbers;
  } else if (const auto *integers = std::get_if<std::vector<std::int64_t>>(&array->items)) {
    items.assign(integers->begin(), integers->end());
  } else if (const auto *naturals = std::get_if<std::vector<std::uint64_t>>(&array->items)) {
    items.assign(naturals->begin(), naturals->end());
  } else {
    return wrong_type(key, *value, "an array of numbers");
  }
  const auto bad = std::ranges::find_if_not(items, [](double item) { return std::isfinite(item); });
  if (bad != items.end()) {
    return key_error(key, concat("has an item that is not finite: item ", bad - items.begin()));
  }
  return std::optional(std::move(items));
}

std::string_view gguf_type_text(const GgufValue& value) {
  constexpr std::array<std::string_view, 5> kScalars = {"an unsigned integer", "a signed integer",
                                                        "a float", "a bool", "a string"};
  constexpr std::array<std::string_view, 6> kArrays = {"an array of unsigned integers",
                                                       "an array of signed integers",
                                                       "an array of floats",
                                                       "an array of bools",
                                                       "an array of strings",
                                                       "an array of arrays"};
  const auto *array = std::get_if<GgufArray>(&value);
  return array == nullptr ? kScalars[value.index()] : kArrays[array->items.index()];
}

}  // namespace zllm::weight
