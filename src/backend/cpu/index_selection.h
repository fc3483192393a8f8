#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include <zllm/backend/capability/dsa.h>
#include <zllm/backend/cpu/buffer.h>
#include <zllm/backend/cpu/paged_cache.h>
#include <zllm/backend/cpu/tensor.h>
#include <zllm/backend/cpu/thread_pool.h>
#include <zllm/base/result.h>
#include <zllm/kernel/cpu/index.h>

namespace zllm::backend::cpu {

// Scores a round's rows against pools that have been appended, and keeps each row's best.
struct IndexSelection {
  std::string_view operation;  // for messages
  ThreadPool& threads;
  const kernel::cpu::IndexKernels& kernels;
  Buffer<float>& scores;
  Buffer<float>& scratch;
  PagedCache& cache;
  PlaneId plane;
  const attention::sparse::IndexerSpec& spec;
  std::uint32_t pool;  // positions of one; 1: every position is a pool
  std::span<const PagedSegment> segments;
  const IndexInputs<Tensor>& inputs;

  // The pools of row `row` in ascending order; rows come in order.
  using Take = std::function<void(std::uint32_t row, std::span<const std::uint32_t> pools)>;
  // A row that sees no more pools than it may keep takes them all without a score. An error names
  // the first row with a score that is NaN or infinite.
  Status select(const Take& take) const;
};

// Broken invariants of a caller: shapes of the plane and of the inputs.
void check_index_shapes(const PagedCache& cache, PlaneId plane,
                        const attention::sparse::IndexerSpec& spec, std::uint32_t pool,
                        const IndexInputs<Tensor>& inputs);

}  // namespace zllm::backend::cpu
