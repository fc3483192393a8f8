#include <zllm/backend/cpu/index_selection.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include <zllm/backend/cpu/segment_pages.h>
#include <zllm/base/text.h>
#include <zllm/kernel/cpu/top_indices.h>

namespace zllm::backend::cpu {
namespace {

using kernel::cpu::IndexScoreParams;
using kernel::cpu::IndexTask;

// Scores that are kept at once: 32 MiB, which bounds the rows of a chunk.
constexpr std::size_t kChunkScores = std::size_t{8} << 20;
// Rows that share a page of keys laid out in a cache.
constexpr std::size_t kTaskRows = 8;
// Pages of one task: enough to pay for laying out the queries.
constexpr std::size_t kFewestPages = 16;
constexpr std::size_t kTasksPerThread = 4;

std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// The rows of one sequence in a chunk that need scores; params.rows may be 0.
struct ScoreWork {
  std::vector<std::byte *> pages;
  IndexScoreParams params;
  std::uint32_t first_row = 0;  // of the tensors
};

// A row's best pools, with room for one more than it keeps.
struct Picked {
  std::vector<std::uint32_t> pools;  // [rows of the chunk][keep + 1]
  std::vector<std::size_t> counts;
  std::vector<std::optional<std::size_t>> bad;  // pools whose score is not finite
};

std::size_t pools_at(const PagedSegment& segment, std::uint32_t row, std::uint32_t pool) {
  return (segment.position + (row - segment.first_row) + 1) / pool;
}

std::vector<ScoreWork> cut(const IndexSelection& round, std::uint32_t first, std::uint32_t last,
                           std::size_t stride) {
  const std::size_t keep = round.spec.top_k / round.pool;
  std::vector<ScoreWork> works;
  for (const PagedSegment& segment : round.segments) {
    std::uint32_t begin = std::max(first, segment.first_row);
    const std::uint32_t end = std::min(last, segment.first_row + segment.rows);
    while (begin < end && pools_at(segment, begin, round.pool) <= keep) {
      ++begin;
    }
    if (begin >= end) {
      continue;
    }
    ScoreWork& work = works.emplace_back();
    work.pages = segment_pages(round.cache, round.plane, segment.pages);
    work.first_row = begin;
    work.params = {.queries = round.inputs.queries->row(begin),
                   .weights = round.inputs.weights->row(begin),
                   .query_row_stride = round.inputs.queries->columns(),
                   .weight_row_stride = round.inputs.weights->columns(),
                   .rows = end - begin,
                   .first_position = segment.position + (begin - segment.first_row),
                   .heads = round.spec.heads,
                   .width = round.spec.width,
                   .pool = round.pool,
                   .score_scale = round.spec.score_scale,
                   .weight_scale = round.spec.weight_scale,
                   .type = round.cache.kernel_type(),
                   .pages = work.pages.data(),
                   .scores = round.scores.data() + (begin - first) * stride,
                   .score_row_stride = stride};
  }
  return works;
}

struct ScoreTask {
  const IndexScoreParams *params;
  IndexTask task;
};

std::vector<ScoreTask> score_tasks(const std::vector<ScoreWork>& works, std::size_t threads) {
  const auto pages_of = [](const IndexScoreParams& params, std::size_t last_row) {
    return divide_up(visible_pools(params, last_row - 1) * params.pool, kernel::cpu::kPageTokens);
  };
  std::size_t total = 0;
  for (const ScoreWork& work : works) {
    total += divide_up(work.params.rows, kTaskRows) * pages_of(work.params, work.params.rows);
  }
  const std::size_t step = std::max(kFewestPages, divide_up(total, threads * kTasksPerThread));
  std::vector<ScoreTask> tasks;
  for (const ScoreWork& work : works) {
    for (std::size_t row = 0; row < work.params.rows; row += kTaskRows) {
      const std::size_t last_row = std::min(row + kTaskRows, work.params.rows);
      const std::size_t pages = pages_of(work.params, last_row);
      for (std::size_t page = 0; page < pages; page += step) {
        tasks.push_back({.params = &work.params,
                         .task = {.first_row = row,
                                  .last_row = last_row,
                                  .first_page = page,
                                  .last_page = std::min(page + step, pages)}});
      }
    }
  }
  return tasks;
}

Status score(const IndexSelection& round, const std::vector<ScoreWork>& works) {
  const std::vector<ScoreTask> tasks = score_tasks(works, round.threads.threads());
  std::size_t scratch = 0;
  for (const ScoreWork& work : works) {
    scratch = std::max(scratch, kernel::cpu::index_scratch_floats(work.params, kTaskRows));
  }
  scratch = divide_up(scratch, 16) * 16;
  ZLLM_TRY(round.scratch.grow(scratch * round.threads.threads()));
  round.threads.parallel_for(tasks.size(), 1,
                             [&](std::uint64_t begin, std::uint64_t end, std::size_t worker) {
                               for (std::uint64_t i = begin; i < end; ++i) {
                                 round.kernels.scores(*tasks[i].params, tasks[i].task,
                                                      round.scratch.data() + scratch * worker);
                               }
                             });
  return {};
}

// Picks among the scored rows of a chunk that begins at row `first`.
void pick(const IndexSelection& round, const std::vector<ScoreWork>& works, std::uint32_t first,
          Picked& picked) {
  const std::size_t keep = round.spec.top_k / round.pool;
  std::vector<std::pair<const ScoreWork *, std::size_t>> rows;
  for (const ScoreWork& work : works) {
    for (std::size_t row = 0; row < work.params.rows; ++row) {
      rows.emplace_back(&work, row);
    }
  }
  std::vector<kernel::cpu::TopIndicesScratch> scratch(round.threads.threads());
  round.threads.parallel_for(
      rows.size(), 1, [&](std::uint64_t begin, std::uint64_t end, std::size_t worker) {
        for (std::uint64_t i = begin; i < end; ++i) {
          const auto [work, row] = rows[i];
          const std::size_t at = work->first_row + row - first;
          const float *const scores = work->params.scores + row * work->params.score_row_stride;
          picked.counts[at] = keep;
          picked.bad[at] =
              kernel::cpu::top_indices({scores, visible_pools(work->params, row)}, keep,
                                       scratch[worker], picked.pools.data() + at * (keep + 1));
        }
      });
}

// Rows that keep every pool they see.
void take_all(const IndexSelection& round, std::uint32_t first, std::uint32_t last,
              Picked& picked) {
  const std::size_t keep = round.spec.top_k / round.pool;
  for (const PagedSegment& segment : round.segments) {
    const std::uint32_t begin = std::max(first, segment.first_row);
    const std::uint32_t end = std::min(last, segment.first_row + segment.rows);
    for (std::uint32_t row = begin; row < end; ++row) {
      const std::size_t pools = pools_at(segment, row, round.pool);
      if (pools > keep) {
        break;
      }
      picked.counts[row - first] = pools;
      const auto to =
          picked.pools.begin() + static_cast<std::ptrdiff_t>((row - first) * (keep + 1));
      std::iota(to, to + static_cast<std::ptrdiff_t>(pools), 0U);
    }
  }
}

}  // namespace

Status IndexSelection::select(const Take& take) const {
  const std::uint32_t rows = inputs.queries->rows();
  const std::size_t keep = spec.top_k / pool;
  std::size_t most_pools = 1;
  for (const PagedSegment& segment : segments) {
    most_pools = std::max<std::size_t>(most_pools, (segment.position + segment.rows) / pool);
  }
  const auto chunk = static_cast<std::uint32_t>(std::clamp<std::size_t>(
      kChunkScores / std::max(most_pools, keep + 1), 1, std::max<std::uint32_t>(rows, 1)));
  if (most_pools > keep) {
    ZLLM_TRY(scores.grow(chunk * most_pools));
  }
  Picked picked;
  for (std::uint32_t first = 0; first < rows; first += chunk) {
    const std::uint32_t count = std::min(chunk, rows - first);
    picked.pools.resize(count * (keep + 1));
    picked.counts.assign(count, 0);
    picked.bad.assign(count, std::nullopt);
    take_all(*this, first, first + count, picked);
    const std::vector<ScoreWork> works = cut(*this, first, first + count, most_pools);
    ZLLM_TRY(score(*this, works));
    pick(*this, works, first, picked);
    for (std::uint32_t row = 0; row < count; ++row) {
      if (picked.bad[row]) {
        return Error{Code::invalid_argument,
                     concat(operation, ": row ", first + row, ": the score of ",
                            pool == 1 ? "position " : "pool ", *picked.bad[row], " is not finite")};
      }
      take(first + row, std::span(picked.pools).subspan(row * (keep + 1), picked.counts[row]));
    }
  }
  return {};
}

void check_index_shapes(const PagedCache& cache, PlaneId plane,
                        const attention::sparse::IndexerSpec& spec, std::uint32_t pool,
                        const IndexInputs<Tensor>& inputs) {
  ZLLM_CHECK(plane.value() < cache.spec().planes.size(), "index: no such plane");
  const PlaneSpec& stored = cache.spec().planes[plane.value()];
  ZLLM_CHECK(
      stored.kind == PlaneKind::index_keys && stored.width == spec.width && stored.pool == pool,
      "index: shape of the plane");
  const std::uint32_t rows = inputs.queries->rows();
  ZLLM_CHECK(inputs.queries->columns() == spec.heads * spec.width, "index: shape of queries");
  ZLLM_CHECK(inputs.keys->rows() == rows && inputs.keys->columns() == spec.width,
             "index: shape of keys");
  ZLLM_CHECK(inputs.weights->rows() == rows && inputs.weights->columns() == spec.heads,
             "index: shape of weights");
}

}  // namespace zllm::backend::cpu
