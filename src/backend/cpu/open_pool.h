#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <zllm/backend/capability/slots.h>

// The state of an OpenPoolSpec plane: [pool - 1][key of width | gate of width], the rows of the
// pool in progress in order of position, then one float, how many they are. Rows beyond the count
// are zeros, so that equal states have equal bytes; before the first row everything is zero. A row
// of the journal is [key | gate].
namespace zllm::backend::cpu {

constexpr std::size_t open_pool_state_width(const OpenPoolSpec& spec) {
  return std::size_t{spec.pool - 1} * 2 * spec.width + 1;
}

// Consecutive rows: key i at keys + i * key_stride, its gate likewise.
struct OpenPoolRows {
  const float *keys = nullptr;
  const float *gates = nullptr;
  std::size_t key_stride = 0;
  std::size_t gate_stride = 0;
  std::size_t count = 0;
};

// Rows of the pool in progress; an empty state is the one before the first row.
std::uint32_t open_pool_count(const OpenPoolSpec& spec, std::span<const float> state);

// The rows of the pool in progress; they live as long as the state.
OpenPoolRows open_pool_rows(const OpenPoolSpec& spec, std::span<const float> state);

// Makes `to` the state when `rows` follow `from`, which may be empty; the two must not overlap.
void advance_open_pool(const OpenPoolSpec& spec, std::span<const float> from,
                       const OpenPoolRows& rows, std::span<float> to);

}  // namespace zllm::backend::cpu
