#include <zllm/weight/container/gguf_value.h>

#include <array>
#include <cstring>
#include <type_traits>

namespace zllm::weight {
namespace {

constexpr std::array<std::string_view, 13> kTypeNames = {
    "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};

Error unknown_type(std::string_view role, std::uint32_t id) {
  return Error{Code::invalid_file, concat("unknown ", role, " type ", id)};
}

// Floats and integers of every width become the widest of their kind.
template <class T>
using Widened =
    std::conditional_t<std::is_floating_point_v<T>, double,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;

Result<bool> to_bool(std::uint8_t byte) {
  if (byte > 1) {
    return Error{Code::invalid_file, concat("the bool value ", unsigned{byte}, " is not 0 or 1")};
  }
  return byte == 1;
}

template <class T>
Result<GgufValue> read_scalar(GgufReader& reader) {
  ZLLM_TRY(const T value, reader.number<T>("the value"));
  return GgufValue(Widened<T>{value});
}

Result<GgufValue> read_bool(GgufReader& reader) {
  ZLLM_TRY(const auto byte, reader.number<std::uint8_t>("the value"));
  ZLLM_TRY(const bool value, to_bool(byte));
  return GgufValue(value);
}

Result<GgufValue> read_string(GgufReader& reader) {
  ZLLM_TRY(const auto value, reader.string("the string value"));
  return GgufValue(value);
}

// The bytes of all items, taken before anything is allocated for them.
Result<std::span<const std::byte>> take_items(GgufReader& reader, std::uint64_t count,
                                              std::size_t item_size) {
  if (count > reader.remaining() / item_size) {
    return Error{Code::invalid_file, concat("the file ends within the array (", count, " items, ",
                                            reader.remaining(), " bytes left)")};
  }
  return reader.bytes(count * item_size, "the array");
}

template <class T>
Result<GgufValue> read_numbers(GgufReader& reader, std::uint64_t count) {
  ZLLM_TRY(const auto bytes, take_items(reader, count, sizeof(T)));
  std::vector<Widened<T>> items(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < items.size(); ++i) {
    T value{};
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    items[i] = value;
  }
  return GgufValue(GgufArray{std::move(items)});
}

Result<GgufValue> read_bools(GgufReader& reader, std::uint64_t count) {
  ZLLM_TRY(const auto bytes, take_items(reader, count, 1));
  std::vector<bool> items(bytes.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto item = to_bool(std::to_integer<std::uint8_t>(bytes[i]));
    if (!item.ok()) {
      return std::move(item).error().within(concat("item ", i));
    }
    items[i] = *item;
  }
  return GgufValue(GgufArray{std::move(items)});
}

Result<GgufValue> read_strings(GgufReader& reader, std::uint64_t count) {
  if (count > reader.remaining() / sizeof(std::uint64_t)) {
    return Error{Code::invalid_file, concat("the file ends within the array (", count, " strings, ",
                                            reader.remaining(), " bytes left)")};
  }
  std::vector<std::string_view> items(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto item = reader.string("the string");
    if (!item.ok()) {
      return std::move(item).error().within(concat("item ", i));
    }
    items[i] = *item;
  }
  return GgufValue(GgufArray{std::move(items)});
}

Result<GgufValue> read_array(GgufReader& reader, std::uint64_t& items_left, unsigned depth);

Result<GgufValue> read_arrays(GgufReader& reader, std::uint64_t count, std::uint64_t& items_left,
                              unsigned depth) {
  if (depth == kGgufArrayDepthLimit) {
    return Error{Code::invalid_file,
                 concat("arrays within arrays more than ", kGgufArrayDepthLimit, " deep")};
  }
  constexpr std::size_t kSmallest = sizeof(std::uint32_t) + sizeof(std::uint64_t);
  if (count > reader.remaining() / kSmallest) {
    return Error{Code::invalid_file, concat("the file ends within the array (", count, " arrays, ",
                                            reader.remaining(), " bytes left)")};
  }
  std::vector<GgufArray> items(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto item = read_array(reader, items_left, depth + 1);
    if (!item.ok()) {
      return std::move(item).error().within(concat("item ", i));
    }
    items[i] = std::get<GgufArray>(std::move(item).value());
  }
  return GgufValue(GgufArray{std::move(items)});
}

// depth: of arrays, this one included.
Result<GgufValue> read_array(GgufReader& reader, std::uint64_t& items_left, unsigned depth) {
  ZLLM_TRY(const auto type, reader.number<std::uint32_t>("the array's item type"));
  if (type >= kTypeNames.size()) {
    return unknown_type("array item", type);
  }
  ZLLM_TRY(const auto count, reader.number<std::uint64_t>("the array's count"));
  if (count > items_left) {
    return Error{Code::invalid_file,
                 concat("an array of ", count, " items, while all arrays together may have ",
                        kGgufArrayItemsLimit)};
  }
  items_left -= count;
  switch (static_cast<GgufValueType>(type)) {
    case GgufValueType::u8:
      return read_numbers<std::uint8_t>(reader, count);
    case GgufValueType::i8:
      return read_numbers<std::int8_t>(reader, count);
    case GgufValueType::u16:
      return read_numbers<std::uint16_t>(reader, count);
    case GgufValueType::i16:
      return read_numbers<std::int16_t>(reader, count);
    case GgufValueType::u32:
      return read_numbers<std::uint32_t>(reader, count);
    case GgufValueType::i32:
      return read_numbers<std::int32_t>(reader, count);
    case GgufValueType::f32:
      return read_numbers<float>(reader, count);
    case GgufValueType::boolean:
      return read_bools(reader, count);
    case GgufValueType::string:
      return read_strings(reader, count);
    case GgufValueType::array:
      return read_arrays(reader, count, items_left, depth);
    case GgufValueType::u64:
      return read_numbers<std::uint64_t>(reader, count);
    case GgufValueType::i64:
      return read_numbers<std::int64_t>(reader, count);
    case GgufValueType::f64:
      return read_numbers<double>(reader, count);
  }
  return unknown_type("array item", type);
}

}  // namespace

std::string_view gguf_value_type_name(std::uint32_t id) {
  return id < kTypeNames.size() ? kTypeNames[id] : std::string_view();
}

Result<GgufValue> read_gguf_value(GgufReader& reader, std::uint32_t type,
                                  std::uint64_t& array_items_left) {
  switch (static_cast<GgufValueType>(type)) {
    case GgufValueType::u8:
      return read_scalar<std::uint8_t>(reader);
    case GgufValueType::i8:
      return read_scalar<std::int8_t>(reader);
    case GgufValueType::u16:
      return read_scalar<std::uint16_t>(reader);
    case GgufValueType::i16:
      return read_scalar<std::int16_t>(reader);
    case GgufValueType::u32:
      return read_scalar<std::uint32_t>(reader);
    case GgufValueType::i32:
      return read_scalar<std::int32_t>(reader);
    case GgufValueType::f32:
      return read_scalar<float>(reader);
    case GgufValueType::boolean:
      return read_bool(reader);
    case GgufValueType::string:
      return read_string(reader);
    case GgufValueType::array:
      return read_array(reader, array_items_left, 1);
    case GgufValueType::u64:
      return read_scalar<std::uint64_t>(reader);
    case GgufValueType::i64:
      return read_scalar<std::int64_t>(reader);
    case GgufValueType::f64:
      return read_scalar<double>(reader);
  }
  return unknown_type("value", type);
}

}  // namespace zllm::weight
