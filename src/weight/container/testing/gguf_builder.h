#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "byte_writer.h"

namespace zllm::weight::testing {

// A tensor info with its data. What is optional is derived when it is not set, and written as it is
// when it is, however wrong.
struct TensorRecord {
  std::string name;
  std::vector<std::uint64_t> dimensions;  // fastest first, as in the file
  std::uint32_t type = 0;
  std::string data;
  std::optional<std::uint64_t> offset = std::nullopt;
  std::optional<std::uint32_t> rank = std::nullopt;
};

// Writes GGUF files, right ones and wrong ones.
struct GgufBuilder {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::optional<std::uint64_t> tensor_count;
  std::optional<std::uint64_t> key_count;
  std::uint64_t alignment = 32;         // of the data; the key is not written by itself
  std::vector<std::string> key_values;  // whole, as key() makes them
  std::vector<TensorRecord> tensors;
  bool data_reversed = false;  // the last tensor's data comes first

  // Adds a key whose value is given as bytes.
  GgufBuilder& key(std::string_view name, std::uint32_t type, std::string_view value) {
    key_values.push_back(gguf_string(name) + raw(type) + std::string(value));
    return *this;
  }
  GgufBuilder& u32(std::string_view name, std::uint32_t value) { return key(name, 4, raw(value)); }
  GgufBuilder& string(std::string_view name, std::string_view value) {
    return key(name, 8, gguf_string(value));
  }
  GgufBuilder& array(std::string_view name, std::uint32_t type, std::uint64_t count,
                     std::string_view items) {
    return key(name, 9, raw(type) + raw(count) + std::string(items));
  }
  GgufBuilder& tensor(TensorRecord record) {
    tensors.push_back(std::move(record));
    return *this;
  }

  std::uint64_t aligned(std::uint64_t size) const {
    return (size + alignment - 1) / alignment * alignment;
  }

  // Everything in front of the padding before the data.
  std::string header() const {
    std::string out = magic + raw(version) + raw(tensor_count.value_or(tensors.size())) +
                      raw(key_count.value_or(key_values.size()));
    for (const std::string& key_value : key_values) {
      out += key_value;
    }
    const auto offsets = data_offsets();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TensorRecord& record = tensors[i];
      out += gguf_string(record.name);
      out += raw(record.rank.value_or(static_cast<std::uint32_t>(record.dimensions.size())));
      for (const std::uint64_t dimension : record.dimensions) {
        out += raw(dimension);
      }
      out += raw(record.type) + raw(record.offset.value_or(offsets[i]));
    }
    return out;
  }

  std::string build() const {
    std::string out = header();
    if (tensors.empty()) {
      return out;
    }
    const std::uint64_t data_start = aligned(out.size());
    const auto offsets = data_offsets();
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::uint64_t start = data_start + offsets[i];
      out.resize(std::max<std::size_t>(out.size(), start + tensors[i].data.size()));
      out.replace(start, tensors[i].data.size(), tensors[i].data);
    }
    return out;
  }

 private:
  std::vector<std::uint64_t> data_offsets() const {
    std::vector<std::uint64_t> offsets(tensors.size());
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const std::size_t at = data_reversed ? tensors.size() - 1 - i : i;
      offsets[at] = next;
      next += aligned(tensors[at].data.size());
    }
    return offsets;
  }
};

// A small file with a key of every type and tensors of three encodings, its last byte a tensor's.
inline GgufBuilder sample_gguf() {
  GgufBuilder file;
  file.string("general.architecture", "llama")
      .key("a.u8", 0, raw<std::uint8_t>(200))
      .key("a.i8", 1, raw<std::int8_t>(-5))
      .key("a.u16", 2, raw<std::uint16_t>(60000))
      .key("a.i16", 3, raw<std::int16_t>(-30000))
      .u32("a.u32", 4000000000u)
      .key("a.i32", 5, raw<std::int32_t>(-2000000000))
      .key("a.f32", 6, raw(0.5f))
      .key("a.bool", 7, raw<std::uint8_t>(1))
      .key("a.u64", 10, raw<std::uint64_t>(~0ull))
      .key("a.i64", 11, raw<std::int64_t>(-(1ll << 40)))
      .key("a.f64", 12, raw(1e300))
      .array("b.strings", 8, 2, gguf_string("one") + gguf_string("\xff\xfe"))
      .array("b.i32", 5, 2, raw<std::int32_t>(-7) + raw<std::int32_t>(7))
      .array("b.u8", 0, 3, std::string("\x01\x02\xff", 3))
      .array("b.bool", 7, 2, std::string("\x01\x00", 2))
      .array("b.f32", 6, 1, raw(2.5f))
      .array("b.empty", 8, 0, "");
  file.tensor({.name = "norm", .dimensions = {8}, .type = 0, .data = std::string(32, 'n')})
      .tensor({.name = "half", .dimensions = {3, 5}, .type = 1, .data = std::string(30, 'h')})
      .tensor(
          {.name = "quantised", .dimensions = {64, 2, 1}, .type = 2, .data = std::string(72, 'q')});
  return file;
}

}  // namespace zllm::weight::testing
