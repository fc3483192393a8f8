#include <algorithm>
#include <variant>
#include <vector>

#include <zllm/backend/cpu/index_selection.h>
#include <zllm/backend/cpu/open_pool.h>
#include <zllm/backend/cpu/segment_pages.h>
#include <zllm/backend/cpu/state.h>

namespace zllm::backend::cpu {
namespace {

// Pools that a thread takes at a time.
constexpr std::size_t kPoolsAPiece = 8;

// The rows of one segment, behind those of the pool that was in progress.
struct PoolRows {
  OpenPoolRows before;
  OpenPoolRows rows;

  const float *key(std::size_t i) const {
    return i < before.count ? before.keys + i * before.key_stride
                            : rows.keys + (i - before.count) * rows.key_stride;
  }
  const float *gate(std::size_t i) const {
    return i < before.count ? before.gates + i * before.gate_stride
                            : rows.gates + (i - before.count) * rows.gate_stride;
  }
};

// Pools the rows that complete a pool into the plane.
void append_pools(ThreadPool& threads, const kernel::cpu::IndexKernels& kernels,
                  const PoolRows& source, const PagedSegment& segment,
                  kernel::cpu::IndexAppendParams params) {
  const std::size_t pool = params.pool;
  const std::size_t first = segment.position / pool;
  const std::size_t count = (source.before.count + source.rows.count) / pool;
  threads.parallel_for(count, kPoolsAPiece, [&](std::uint64_t begin, std::uint64_t end) {
    std::vector<const float *> keys(pool);
    std::vector<const float *> gates(pool);
    kernel::cpu::IndexAppendParams one = params;
    one.keys = keys.data();
    one.gates = gates.data();
    for (std::uint64_t i = begin; i < end; ++i) {
      for (std::size_t member = 0; member < pool; ++member) {
        keys[member] = source.key(i * pool + member);
        gates[member] = source.gate(i * pool + member);
      }
      one.index = first + i;
      kernels.append(one);
    }
  });
}

void keep_journal(const OpenPoolRows& rows, std::size_t width, std::span<float> journal) {
  ZLLM_CHECK(rows.count <= kJournalRows, "select_pools: rows of a journal");
  float *to = journal.data();
  for (std::size_t i = 0; i < rows.count; ++i) {
    to = std::copy_n(rows.keys + i * rows.key_stride, width, to);
    to = std::copy_n(rows.gates + i * rows.gate_stride, width, to);
  }
}

void check_pool_shapes(const SlotCache& slots, SlotPlaneId plane,
                       const attention::sparse::KpoolSpec& spec,
                       std::span<const PagedSegment> segments,
                       std::span<const SlotSegment> slot_segments,
                       const IndexInputs<Tensor>& inputs, const Weight& bias) {
  const std::uint32_t width = spec.indexer.width;
  ZLLM_CHECK(plane.value() < slots.spec().planes.size(), "select_pools: no such slot plane");
  const auto *const open = std::get_if<OpenPoolSpec>(&slots.spec().planes[plane.value()]);
  ZLLM_CHECK(open != nullptr && *open == (OpenPoolSpec{.width = width, .pool = spec.pool}),
             "select_pools: shape of the slot plane");
  ZLLM_CHECK(inputs.gates->rows() == inputs.keys->rows() && inputs.gates->columns() == width,
             "select_pools: shape of gates");
  ZLLM_CHECK(bias.form() == Weight::Form::vector &&
                 bias.rows() * bias.columns() == std::uint64_t{spec.pool} * width,
             "select_pools: shape of the position bias");
  ZLLM_CHECK(segments.size() == slot_segments.size(), "select_pools: segments");
  for (std::size_t i = 0; i < segments.size(); ++i) {
    ZLLM_CHECK(segments[i].first_row == slot_segments[i].first_row &&
                   segments[i].rows == slot_segments[i].rows &&
                   segments[i].position == slot_segments[i].position,
               "select_pools: segments of pages and of slots");
  }
}

// Positions of each row: the members of its pools and, where asked, the pool in progress.
std::vector<std::uint64_t> row_positions(std::span<const PagedSegment> segments,
                                         std::uint32_t rows) {
  std::vector<std::uint64_t> positions(rows);
  for (const PagedSegment& segment : segments) {
    for (std::uint32_t i = 0; i < segment.rows; ++i) {
      positions[segment.first_row + i] = segment.position + i;
    }
  }
  return positions;
}

void append_members(const attention::sparse::KpoolSpec& spec, std::uint64_t position,
                    std::span<const std::uint32_t> pools, std::vector<std::uint32_t>& members) {
  members.clear();
  for (const std::uint32_t pool : pools) {
    for (std::uint32_t member = 0; member < spec.pool; ++member) {
      members.push_back(pool * spec.pool + member);
    }
  }
  const std::uint64_t open = (position + 1) / spec.pool * spec.pool;
  for (std::uint64_t tail = open; spec.select_tail && tail <= position; ++tail) {
    members.push_back(static_cast<std::uint32_t>(tail));
  }
}

}  // namespace

Status CpuBackend::select_pools(const PoolStore<PagedCache, SlotCache>& store,
                                const attention::sparse::KpoolSpec& spec,
                                std::span<const PagedSegment> segments,
                                std::span<const SlotSegment> slot_segments,
                                const IndexInputs<Tensor>& inputs, const Weight& position_bias,
                                Selection& out) {
  PagedCache& cache = *store.pages;
  SlotCache& slots = *store.slots;
  const PlaneId plane = store.keys;
  const SlotPlaneId slot_plane = store.open_pool;
  const std::uint32_t width = spec.indexer.width;
  check_index_shapes(cache, plane, spec.indexer, spec.pool, inputs);
  check_pool_shapes(slots, slot_plane, spec, segments, slot_segments, inputs, position_bias);
  const OpenPoolSpec open = {.width = width, .pool = spec.pool};
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const PagedSegment& segment = segments[i];
    const SlotSegment& way = slot_segments[i];
    const std::span<const float> from = std::as_const(slots).state(way.from, slot_plane);
    const PoolRows source = {.before = open_pool_rows(open, from),
                             .rows = {.keys = inputs.keys->row(segment.first_row),
                                      .gates = inputs.gates->row(segment.first_row),
                                      .key_stride = width,
                                      .gate_stride = width,
                                      .count = segment.rows}};
    ZLLM_CHECK(source.before.count == segment.position % spec.pool,
               "select_pools: a slot of another position");
    const std::vector<std::byte *> pages = segment_pages(cache, plane, segment.pages);
    append_pools(state_->threads, *state_->index, source, segment,
                 {.bias = position_bias.values(),
                  .pool = spec.pool,
                  .width = width,
                  .type = cache.kernel_type(),
                  .pages = pages.data()});
    if (way.journal) {
      keep_journal(source.rows, width, slots.journal(way.to, slot_plane));
    }
    advance_open_pool(open, from, source.rows, slots.state(way.to, slot_plane));
  }
  out.clear();
  const std::vector<std::uint64_t> positions = row_positions(segments, inputs.queries->rows());
  std::vector<std::uint32_t> members;
  const IndexSelection round = {.operation = "select_pools",
                                .threads = state_->threads,
                                .kernels = *state_->index,
                                .scores = state_->index_scores,
                                .scratch = state_->attention_scratch,
                                .cache = cache,
                                .plane = plane,
                                .spec = spec.indexer,
                                .pool = spec.pool,
                                .segments = segments,
                                .inputs = inputs};
  return round.select([&](std::uint32_t row, std::span<const std::uint32_t> pools) {
    append_members(spec, positions[row], pools, members);
    out.append_row(members);
  });
}

}  // namespace zllm::backend::cpu
