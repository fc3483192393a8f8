#include <zllm/backend/cpu/open_pool.h>

#include <algorithm>

#include <zllm/base/check.h>

namespace zllm::backend::cpu {

std::uint32_t open_pool_count(const OpenPoolSpec& spec, std::span<const float> state) {
  if (state.empty()) {
    return 0;
  }
  ZLLM_CHECK(state.size() == open_pool_state_width(spec), "size of an open pool");
  const float count = state.back();
  ZLLM_CHECK(count >= 0.0F && count < static_cast<float>(spec.pool), "count of an open pool");
  return static_cast<std::uint32_t>(count);
}

OpenPoolRows open_pool_rows(const OpenPoolSpec& spec, std::span<const float> state) {
  const std::size_t stride = 2 * std::size_t{spec.width};
  return {.keys = state.data(),
          .gates = state.empty() ? nullptr : state.data() + spec.width,
          .key_stride = stride,
          .gate_stride = stride,
          .count = open_pool_count(spec, state)};
}

void advance_open_pool(const OpenPoolSpec& spec, std::span<const float> from,
                       const OpenPoolRows& rows, std::span<float> to) {
  ZLLM_CHECK(to.size() == open_pool_state_width(spec), "size of an open pool");
  const OpenPoolRows before = open_pool_rows(spec, from);
  const std::size_t total = before.count + rows.count;
  const std::size_t kept = total % spec.pool;
  float *row = to.data();
  for (std::size_t i = total - kept; i < total; ++i) {
    const OpenPoolRows& source = i < before.count ? before : rows;
    const std::size_t index = i < before.count ? i : i - before.count;
    row = std::copy_n(source.keys + index * source.key_stride, spec.width, row);
    row = std::copy_n(source.gates + index * source.gate_stride, spec.width, row);
  }
  std::fill(row, to.data() + to.size() - 1, 0.0F);
  to.back() = static_cast<float>(kept);
}

}  // namespace zllm::backend::cpu
