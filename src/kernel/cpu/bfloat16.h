#pragma once

#include <cstdint>

namespace zllm::kernel::cpu {

// The upper half of an f32, as a type of its own that vectors load.
struct BFloat16 {
  std::uint16_t bits;
};

}  // namespace zllm::kernel::cpu
