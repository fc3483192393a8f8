#pragma once

#include <array>
#include <cstdint>

#include <zllm/encoding/codebook.h>
#include <zllm/encoding/gen/iq1_codes.h>

namespace zllm::encoding {

inline constexpr std::int8_t kIq1Values[3] = {-1, 0, 1};
inline constexpr std::array<std::uint64_t, 2048> kIq1Codebook =
    unpack_codebook<std::uint64_t, 2>(gen::kIq1Codes, kIq1Values);

// Added to, or taken from, every element of a group before scaling.
inline constexpr float kIq1Shift = 0.125f;

}  // namespace zllm::encoding
