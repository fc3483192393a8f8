#pragma once

#include <cstddef>
#include <cstdint>

#include <zllm/kernel/cpu/latent_page.h>

// The indexer's keys and scores (zllm/attention/sparse/{indexer,kpool}.h). A score depends on its
// row and pool alone, whatever is computed beside it; pool 1 makes every position a pool.
namespace zllm::kernel::cpu {

// A pool's members in order of position, whose pooled key goes into a page.
struct IndexAppendParams {
  const float *const *keys = nullptr;   // [pool] of [width]
  const float *const *gates = nullptr;  // likewise; not read where pool is 1 and bias is null
  const float *bias = nullptr;          // [pool][width]; null where keys are not pooled
  std::size_t pool = 1;
  std::size_t width = 0;
  std::size_t index = 0;  // of the pool
  KvType type = KvType::f32;
  std::byte *const *pages = nullptr;  // [position / kPageTokens], of this plane
};

struct IndexScoreParams {
  const float *queries = nullptr;  // [rows][heads][width]
  const float *weights = nullptr;  // [rows][heads]
  std::size_t query_row_stride = 0;
  std::size_t weight_row_stride = 0;
  std::size_t rows = 0;  // at consecutive positions
  std::size_t first_position = 0;
  std::size_t heads = 0;
  std::size_t width = 0;
  std::size_t pool = 1;
  float score_scale = 1.0F;
  float weight_scale = 1.0F;
  KvType type = KvType::f32;
  const std::byte *const *pages = nullptr;
  float *scores = nullptr;  // [rows][score_row_stride], by pool
  std::size_t score_row_stride = 0;
};

// Pools that the row sees: complete and not later than it.
constexpr std::size_t visible_pools(const IndexScoreParams& params, std::size_t row) {
  return (params.first_position + row + 1) / params.pool;
}

// Rows and pages of one call.
struct IndexTask {
  std::size_t first_row = 0;
  std::size_t last_row = 0;
  std::size_t first_page = 0;
  std::size_t last_page = 0;
};

// Floats of scratch that a call with so many rows needs.
std::size_t index_scratch_floats(const IndexScoreParams& params, std::size_t rows);

// One instruction set's instance. Functions are thread-safe on disjoint work.
struct IndexKernels {
  void (*append)(const IndexAppendParams& params);
  void (*scores)(const IndexScoreParams& params, const IndexTask& task, float *scratch);
};

}  // namespace zllm::kernel::cpu
