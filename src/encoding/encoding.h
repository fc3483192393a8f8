#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// How the elements of a tensor are stored. A row is a run of whole blocks; the reference decode of
// each format is in its own header here.
namespace zllm::encoding {

enum class Encoding : std::uint8_t {
  // Plain element types. The integer ones carry tables and indexes, never weights.
  f32,
  f16,
  bf16,
  f64,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  // GGUF block formats.
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  iq3_s,
  iq3_xxs,
  iq2_s,
  iq2_xs,
  iq2_xxs,
  iq1_s,
  iq1_m,
  tq1_0,
  tq2_0,
  mxfp4,
};
constexpr std::size_t kEncodingCount = static_cast<std::size_t>(Encoding::mxfp4) + 1;

struct EncodingInfo {
  std::string_view name;         // as in messages and JSON: "Q4_K", "BF16"
  std::uint32_t block_elements;  // elements of one block, 1 for plain types
  std::uint32_t block_bytes;
  bool is_weight;  // has a reference decode to f32, so a matrix may be stored in it
};

const EncodingInfo& info(Encoding encoding);
std::optional<Encoding> encoding_named(std::string_view name);

// Bytes of one row; nothing when columns is no multiple of the block or the size overflows.
std::optional<std::uint64_t> row_bytes(Encoding encoding, std::uint64_t columns);

// A matrix as it lies in a file, row-major, `rows` rows of `columns` elements. Vectors have one
// row. Not owned: the file must stay mapped. bytes.size() == rows * row_bytes(encoding, columns).
struct WeightView {
  Encoding encoding = Encoding::f32;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::span<const std::byte> bytes;
  std::string_view name =
      {};  // of the tensor in its file, for messages; lives as long as the bytes
};

// Rows [first, first + count) of a view; its name stays that of the whole.
WeightView slice_rows(const WeightView& view, std::uint64_t first, std::uint64_t count);

// Reference decode of whole blocks: elements.size() is a multiple of the block and blocks holds
// just those. Total: every bit pattern gives a number, possibly NaN or infinite. The encoding must
// have is_weight. Bit for bit what the format's definition gives in f32.
void decode(Encoding encoding, std::span<const std::byte> blocks, std::span<float> elements);

}  // namespace zllm::encoding
