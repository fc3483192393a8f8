#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/rope/reference.h>
#include <zllm/runtime/round.h>

namespace zllm::runtime {

// Cosines and sines of every row of a round, rotated / 2 a row, amplitude included.
struct RotaryTables {
  std::vector<float> cosine;
  std::vector<float> sine;
};

// lengths: the announced length of each segment's sequence (rope/reference.h says why).
Result<RotaryTables> rotary_tables(const rope::Spec& spec, const Round& round,
                                   std::span<const std::uint64_t> lengths);

}  // namespace zllm::runtime
