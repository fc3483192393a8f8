#pragma once

#include <cstdint>

namespace zllm::encoding {

// The values of the four-bit codes of IQ4_NL and IQ4_XS.
inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace zllm::encoding
