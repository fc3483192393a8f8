#pragma once

#include <cstdint>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/weight/container/gguf_metadata.h>
#include <zllm/weight/container/gguf_reader.h>

namespace zllm::weight {

// Types of metadata values with their ids in the file.
enum class GgufValueType : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

// Items of all arrays of a file together. Ten times the largest vocabulary with its merges, and
// few enough that widened to 64 bits they fit in memory whatever the file says.
constexpr std::uint64_t kGgufArrayItemsLimit = std::uint64_t{1} << 26;

// The format allows arrays of arrays without a limit; this one bounds the recursion.
constexpr unsigned kGgufArrayDepthLimit = 8;

// "u32", "string"; empty for an id that is no type.
std::string_view gguf_value_type_name(std::uint32_t id);

// Reads one value whose type id has been read. Takes the items of arrays off array_items_left and
// refuses an array that is larger.
Result<GgufValue> read_gguf_value(GgufReader& reader, std::uint32_t type,
                                  std::uint64_t& array_items_left);

}  // namespace zllm::weight
