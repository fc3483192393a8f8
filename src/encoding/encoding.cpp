#include <zllm/encoding/encoding.h>

#include <algorithm>
#include <array>
#include <cstring>

#include <zllm/base/check.h>
#include <zllm/base/checked.h>
#include <zllm/encoding/every_format.h>

namespace zllm::encoding {
namespace {

constexpr std::size_t index_of(Encoding encoding) { return static_cast<std::size_t>(encoding); }

struct NamedEncoding {
  Encoding encoding;
  std::string_view name;
};

// The names of safetensors' dtypes and of GGUF's types, which agree where both have one.
constexpr NamedEncoding kNames[] = {
    {Encoding::f32, "F32"},         {Encoding::f16, "F16"},         {Encoding::bf16, "BF16"},
    {Encoding::f64, "F64"},         {Encoding::f8_e4m3, "F8_E4M3"}, {Encoding::f8_e5m2, "F8_E5M2"},
    {Encoding::f8_e8m0, "F8_E8M0"}, {Encoding::i8, "I8"},           {Encoding::i16, "I16"},
    {Encoding::i32, "I32"},         {Encoding::i64, "I64"},         {Encoding::u8, "U8"},
    {Encoding::u16, "U16"},         {Encoding::u32, "U32"},         {Encoding::u64, "U64"},
    {Encoding::boolean, "BOOL"},    {Encoding::q4_0, "Q4_0"},       {Encoding::q4_1, "Q4_1"},
    {Encoding::q5_0, "Q5_0"},       {Encoding::q5_1, "Q5_1"},       {Encoding::q8_0, "Q8_0"},
    {Encoding::q2_k, "Q2_K"},       {Encoding::q3_k, "Q3_K"},       {Encoding::q4_k, "Q4_K"},
    {Encoding::q5_k, "Q5_K"},       {Encoding::q6_k, "Q6_K"},       {Encoding::iq4_nl, "IQ4_NL"},
    {Encoding::iq4_xs, "IQ4_XS"},   {Encoding::iq3_s, "IQ3_S"},     {Encoding::iq3_xxs, "IQ3_XXS"},
    {Encoding::iq2_s, "IQ2_S"},     {Encoding::iq2_xs, "IQ2_XS"},   {Encoding::iq2_xxs, "IQ2_XXS"},
    {Encoding::iq1_s, "IQ1_S"},     {Encoding::iq1_m, "IQ1_M"},     {Encoding::tq1_0, "TQ1_0"},
    {Encoding::tq2_0, "TQ2_0"},     {Encoding::mxfp4, "MXFP4"},
};

constexpr std::uint32_t plain_bytes(Encoding encoding) {
  switch (encoding) {
    case Encoding::f64:
    case Encoding::i64:
    case Encoding::u64:
      return 8;
    case Encoding::i32:
    case Encoding::u32:
      return 4;
    case Encoding::i16:
    case Encoding::u16:
      return 2;
    default:
      return 1;
  }
}

constexpr EncodingInfo describe(NamedEncoding named) {
  EncodingInfo info{named.name, 1, plain_bytes(named.encoding), false};
  visit_format(named.encoding, [&](auto format) {
    using Format = decltype(format);
    info.block_elements = Format::kBlockElements;
    info.block_bytes = sizeof(typename Format::Block);
    info.is_weight = true;
  });
  return info;
}

constexpr auto kInfos = [] {
  std::array<EncodingInfo, kEncodingCount> infos{};
  for (const NamedEncoding& named : kNames) {
    infos[index_of(named.encoding)] = describe(named);
  }
  return infos;
}();
static_assert(std::ranges::none_of(kInfos,
                                   [](const EncodingInfo& info) { return info.name.empty(); }));

template <BlockFormat Format>
void decode_blocks(std::span<const std::byte> blocks, std::span<float> elements) {
  using Block = typename Format::Block;
  const std::size_t count = elements.size() / Format::kBlockElements;
  for (std::size_t index = 0; index < count; ++index) {
    Block block;
    std::memcpy(&block, blocks.data() + index * sizeof(Block), sizeof(Block));
    Format::decode(block, elements.data() + index * Format::kBlockElements);
  }
}

}  // namespace

const EncodingInfo& info(Encoding encoding) {
  ZLLM_CHECK(index_of(encoding) < kEncodingCount, "no such encoding");
  return kInfos[index_of(encoding)];
}

std::optional<Encoding> encoding_named(std::string_view name) {
  for (const NamedEncoding& named : kNames) {
    if (named.name == name) {
      return named.encoding;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> row_bytes(Encoding encoding, std::uint64_t columns) {
  const EncodingInfo& format = info(encoding);
  if (columns % format.block_elements != 0) {
    return std::nullopt;
  }
  return checked_multiply<std::uint64_t>(columns / format.block_elements, format.block_bytes);
}

WeightView slice_rows(const WeightView& view, std::uint64_t first, std::uint64_t count) {
  const std::optional<std::uint64_t> bytes = row_bytes(view.encoding, view.columns);
  ZLLM_CHECK(bytes && first <= view.rows && count <= view.rows - first, "rows outside the view");
  return {.encoding = view.encoding,
          .rows = count,
          .columns = view.columns,
          .bytes = view.bytes.subspan(first * *bytes, count * *bytes),
          .name = view.name};
}

void decode(Encoding encoding, std::span<const std::byte> blocks, std::span<float> elements) {
  const std::optional<std::uint64_t> bytes = row_bytes(encoding, elements.size());
  ZLLM_CHECK(bytes == blocks.size(), "the blocks are not those of the elements");
  const bool decoded = visit_format(
      encoding, [&](auto format) { decode_blocks<decltype(format)>(blocks, elements); });
  ZLLM_CHECK(decoded, "the encoding has no decode");
}

}  // namespace zllm::encoding
