#include <zllm/encoding/encoding.h>

#include <array>

#include <zllm/base/checked.h>

namespace zllm::encoding {
namespace {

constexpr std::array<EncodingInfo, kEncodingCount> kInfos = {{
    {"F32", 1, 4, true},        {"F16", 1, 2, true},       {"BF16", 1, 2, true},
    {"F64", 1, 8, true},        {"F8_E4M3", 1, 1, true},   {"F8_E5M2", 1, 1, true},
    {"F8_E8M0", 1, 1, true},    {"I8", 1, 1, false},       {"I16", 1, 2, false},
    {"I32", 1, 4, false},       {"I64", 1, 8, false},      {"U8", 1, 1, false},
    {"U16", 1, 2, false},       {"U32", 1, 4, false},      {"U64", 1, 8, false},
    {"BOOL", 1, 1, false},      {"Q4_0", 32, 18, true},    {"Q4_1", 32, 20, true},
    {"Q5_0", 32, 22, true},     {"Q5_1", 32, 24, true},    {"Q8_0", 32, 34, true},
    {"Q2_K", 256, 84, true},    {"Q3_K", 256, 110, true},  {"Q4_K", 256, 144, true},
    {"Q5_K", 256, 176, true},   {"Q6_K", 256, 210, true},  {"IQ4_NL", 32, 18, true},
    {"IQ4_XS", 256, 136, true}, {"IQ3_S", 256, 110, true}, {"IQ3_XXS", 256, 98, true},
    {"IQ2_S", 256, 82, true},   {"IQ2_XS", 256, 74, true}, {"IQ2_XXS", 256, 66, true},
    {"IQ1_S", 256, 50, true},   {"IQ1_M", 256, 56, true},  {"TQ1_0", 256, 54, true},
    {"TQ2_0", 256, 66, true},   {"MXFP4", 32, 17, true},
}};

}  // namespace

const EncodingInfo& info(Encoding encoding) { return kInfos[static_cast<std::size_t>(encoding)]; }

std::optional<Encoding> encoding_named(std::string_view name) {
  for (std::size_t i = 0; i < kInfos.size(); ++i) {
    if (kInfos[i].name == name) {
      return static_cast<Encoding>(i);
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

}  // namespace zllm::encoding
