#pragma once

#include <zllm/kernel/cpu/linear.h>

namespace zllm::kernel::cpu::scalar {
namespace {

inline void store(const ProductOutput& output, std::size_t row, std::uint64_t index, float sum) {
  float& place = output.values[row * output.stride + index];
  const float value = output.bias == nullptr ? sum : sum + output.bias[index];
  place = output.accumulate ? place + value : value;
}

}  // namespace
}  // namespace zllm::kernel::cpu::scalar
