#pragma once

#include <cstdint>

namespace zllm::encoding {

// The values of the two-bit codes in the codebooks of IQ2_XXS, IQ2_XS and IQ2_S.
inline constexpr std::int8_t kIq2Values[3] = {8, 25, 43};

}  // namespace zllm::encoding
