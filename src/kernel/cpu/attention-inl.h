#pragma once

#include <zllm/kernel/cpu/attention.h>
#include <zllm/kernel/cpu/attention_tile-inl.h>
#include <zllm/kernel/cpu/softmax_state-inl.h>

namespace zllm::kernel::cpu {

// The query rows of a task, in the order row, query head of the group, and their states in the
// thread's scratch. attention_plan.cpp counts these arrays.
template <class S>
struct AttentionBlock {
  const AttentionParams& params;
  const AttentionTask& task;
  std::size_t group;
  std::size_t query_rows;
  std::size_t stride;  // of values
  std::size_t tiles;
  float *queries;
  SoftmaxRows split;
  SoftmaxRows total;  // sums [query_rows] here
  float *page;
};

template <class S>
AttentionBlock<S> make_block(const AttentionParams& params, const AttentionTask& task,
                             float *scratch) {
  const auto take = [&scratch](std::size_t count) {
    float *const taken = scratch;
    scratch += (count + 15) / 16 * 16;
    return taken;
  };
  const std::size_t group = params.query_heads / params.kv_heads;
  const std::size_t query_rows = task.row_count * group;
  const std::size_t stride = kv_value_stride(params.head);
  return {
      .params = params,
      .task = task,
      .group = group,
      .query_rows = query_rows,
      .stride = stride,
      .tiles = (query_rows + S::kTileRows - 1) / S::kTileRows,
      .queries = take(query_rows * params.head),
      .split = {.values = take(query_rows * stride),
                .largest = take(query_rows + kRowFloats),
                .sums = take(query_rows * kRowFloats)},
      .total = {.values = take(query_rows * stride),
                .largest = take(query_rows + kRowFloats),
                .sums = take(query_rows)},
      .page = take(kv_head_elements(params.head)),
  };
}

// Tiles differ by at most one row.
template <class S>
std::size_t tile_start(const AttentionBlock<S>& block, std::size_t tile) {
  return block.query_rows * tile / block.tiles;
}

template <class S>
void pack_queries(const AttentionBlock<S>& block) {
  const AttentionParams& params = block.params;
  const std::size_t head = params.head;
  // A soft cap needs true scores; cap_scores changes the unit.
  const float scale = params.softcap != 0.0F ? params.scale : params.scale * kLog2E;
  for (std::size_t tile = 0; tile < block.tiles; ++tile) {
    const std::size_t first = tile_start(block, tile);
    const std::size_t rows = tile_start(block, tile + 1) - first;
    float *const to = block.queries + first * head;
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t row = block.task.first_row + (first + r) / block.group;
      const std::size_t query_head = block.task.kv_head * block.group + (first + r) % block.group;
      const float *const from = params.queries + row * params.query_row_stride + query_head * head;
      for (std::size_t d = 0; d < head; ++d) {
        to[d * rows + r] = from[d] * scale;
      }
    }
  }
}

template <class S>
void reset(const AttentionBlock<S>& block) {
  for (std::size_t i = 0; i < block.query_rows * block.stride; i += S::kLanes) {
    S::store(block.split.values + i, S::zero());
  }
  for (std::size_t i = 0; i < block.query_rows * kRowFloats; i += S::kLanes) {
    S::store(block.split.sums + i, S::zero());
  }
  for (std::size_t i = 0; i < block.query_rows + kRowFloats; ++i) {
    block.split.largest[i] = -__builtin_inff();
  }
}

template <class S>
VisibleTokens visible_tokens(const AttentionParams& params, std::size_t row,
                             std::size_t page_start) {
  const std::size_t end = params.first_position + row + 1;
  const std::size_t begin = params.window != 0 && end > params.window ? end - params.window : 0;
  const auto within = [page_start](std::size_t position) {
    const std::size_t token = position > page_start ? position - page_start : 0;
    return token < kPageTokens ? token : kPageTokens;
  };
  return {.first = within(begin), .last = within(end)};
}

template <class S, class Element>
void run_tiles(const AttentionBlock<S>& block, std::size_t page_start, const Element *keys,
               std::intptr_t ahead) {
  const AttentionParams& params = block.params;
  const std::size_t last_row = block.task.first_row + block.task.row_count - 1;
  const bool inside =
      visible_tokens<S>(params, block.task.first_row, page_start).last == kPageTokens &&
      visible_tokens<S>(params, last_row, page_start).first == 0;
  for (std::size_t tile = 0; tile < block.tiles; ++tile) {
    const std::size_t first = tile_start(block, tile);
    const std::size_t rows = tile_start(block, tile + 1) - first;
    VisibleTokens visible[S::kTileRows];
    bool any = inside;
    bool all = true;
    for (std::size_t r = 0; r < rows && !inside; ++r) {
      const std::size_t row = block.task.first_row + (first + r) / block.group;
      visible[r] = visible_tokens<S>(params, row, page_start);
      any = any || visible[r].first < visible[r].last;
      all = all && visible[r].first == 0 && visible[r].last == kPageTokens;
    }
    if (!any) {
      continue;
    }
    tile_page<S, Element, S::kTileRows>(
        {.keys = keys,
         .values = keys + params.head * kPageTokens,
         .head = params.head,
         .value_stride = block.stride,
         .queries = block.queries + first * params.head,
         .rows = {.values = block.split.values + first * block.stride,
                  .largest = block.split.largest + first,
                  .sums = block.split.sums + first * kRowFloats},
         .softcap = params.softcap,
         .ahead = ahead,
         .visible = all ? nullptr : visible},
        rows);
  }
}

template <class S>
void widen(const std::uint16_t *from, std::size_t count, float *to) {
  for (std::size_t i = 0; i < count; i += S::kLanes) {
    S::store(to + i, S::load(from + i));
  }
}

template <class S>
void run_page(const AttentionBlock<S>& block, std::size_t page, std::size_t next) {
  const std::size_t elements = kv_head_elements(block.params.head);
  const std::size_t offset = block.task.kv_head * elements;
  const std::byte *const bytes = block.params.pages[page];
  const std::intptr_t ahead = reinterpret_cast<std::intptr_t>(block.params.pages[next]) -
                              reinterpret_cast<std::intptr_t>(bytes);
  const std::size_t page_start = page * kPageTokens;
  if (block.params.type == KvType::f32) {
    run_tiles<S>(block, page_start, reinterpret_cast<const float *>(bytes) + offset, ahead);
    return;
  }
  const auto *const halves = reinterpret_cast<const std::uint16_t *>(bytes) + offset;
  if (block.tiles == 1) {
    run_tiles<S>(block, page_start, halves, ahead);
    return;
  }
  // Widening is exact, so doing it once for all tiles changes no bits.
  widen<S>(halves, elements, block.page);
  run_tiles<S>(block, page_start, static_cast<const float *>(block.page), 0);
}

template <class S>
void run_split(const AttentionBlock<S>& block, std::size_t split) {
  constexpr std::size_t kSplitPages = kSplitKeys / kPageTokens;
  const AttentionParams& params = block.params;
  const std::size_t first_end = params.first_position + block.task.first_row + 1;
  const std::size_t last = first_end - 1 + block.task.row_count - 1;
  const std::size_t begin =
      params.window != 0 && first_end > params.window ? first_end - params.window : 0;
  std::size_t page = split * kSplitPages;
  page = page < begin / kPageTokens ? begin / kPageTokens : page;
  std::size_t end = (split + 1) * kSplitPages;
  end = end > last / kPageTokens + 1 ? last / kPageTokens + 1 : end;
  reset(block);
  for (; page < end; ++page) {
    run_page(block, page, page + 1 < end ? page + 1 : page);
  }
}

template <class S>
void write_row(const AttentionParams& params, std::size_t row, std::size_t query_head,
               const RowState& total) {
  float sum = *total.sum;
  float keep = 1.0F;
  if (params.sinks != nullptr) {
    const float sink = params.sinks[query_head] * kLog2E;
    const float both = sink > *total.largest ? sink : *total.largest;
    keep = power_of_two_of<S>(*total.largest - both);
    sum = sum * keep + power_of_two_of<S>(sink - both);
  }
  float *const to = params.output + row * params.output_row_stride + query_head * params.head;
  for (std::size_t d = 0; d < params.head; d += S::kLanes) {
    const std::size_t left = params.head - d;
    const auto value = S::divide(S::multiply(S::load(total.values + d), S::set(keep)), S::set(sum));
    S::store_first(to + d, value, left < S::kLanes ? left : S::kLanes);
  }
}

template <class S>
float *partial_of(const AttentionParams& params, const AttentionPlan& plan, float *partials,
                  std::size_t row, std::size_t query_head) {
  const std::size_t floats = kv_value_stride(params.head) + kRowFloats;
  return partials + (row * params.query_heads + query_head) * plan.splits * floats;
}

template <class S>
void attention_whole(const AttentionBlock<S>& block, const AttentionPlan& plan) {
  const std::size_t group = block.group;
  for (std::size_t i = 0; i < block.query_rows; i += S::kLanes) {
    S::store(block.total.sums + i, S::zero());
  }
  for (std::size_t split = plan.first_split; split < plan.first_split + plan.splits; ++split) {
    run_split(block, split);
    for (std::size_t i = 0; i < block.query_rows; ++i) {
      merge_row<S>({.values = block.total.values + i * block.stride,
                    .largest = block.total.largest + i,
                    .sum = block.total.sums + i},
                   block.split.values + i * block.stride, block.split.largest[i],
                   S::sum(S::load(block.split.sums + i * kRowFloats)), block.stride);
    }
  }
  for (std::size_t i = 0; i < block.query_rows; ++i) {
    write_row<S>(block.params, block.task.first_row + i / group,
                 block.task.kv_head * group + i % group,
                 {.values = block.total.values + i * block.stride,
                  .largest = block.total.largest + i,
                  .sum = block.total.sums + i});
  }
}

template <class S>
void attention_partial(const AttentionBlock<S>& block, const AttentionPlan& plan, float *partials) {
  const AttentionTask& task = block.task;
  const std::size_t floats = block.stride + kRowFloats;
  for (std::size_t split = task.first_split; split < task.first_split + task.split_count; ++split) {
    run_split(block, split);
    for (std::size_t i = 0; i < block.query_rows; ++i) {
      const std::size_t query_head = task.kv_head * block.group + i % block.group;
      float *const to = partial_of<S>(block.params, plan, partials,
                                      task.first_row + i / block.group, query_head) +
                        (split - plan.first_split) * floats;
      to[0] = block.split.largest[i];
      to[1] = S::sum(S::load(block.split.sums + i * kRowFloats));
      for (std::size_t d = 0; d < block.stride; d += S::kLanes) {
        S::store(to + kRowFloats + d, S::load(block.split.values + i * block.stride + d));
      }
    }
  }
}

template <class S>
void attention(const AttentionParams& params, const AttentionPlan& plan, const AttentionTask& task,
               const AttentionMemory& memory) {
  const AttentionBlock<S> block = make_block<S>(params, task, memory.scratch);
  pack_queries(block);
  if (task.split_count == 0) {
    attention_whole(block, plan);
  } else {
    attention_partial(block, plan, memory.partials);
  }
}

// Merges into the first split's state.
template <class S>
void attention_merge(const AttentionParams& params, const AttentionPlan& plan,
                     const AttentionTask& task, const AttentionMemory& memory) {
  const std::size_t group = params.query_heads / params.kv_heads;
  const std::size_t stride = kv_value_stride(params.head);
  for (std::size_t row = task.first_row; row < task.first_row + task.row_count; ++row) {
    for (std::size_t g = 0; g < group; ++g) {
      const std::size_t query_head = task.kv_head * group + g;
      float *const first = partial_of<S>(params, plan, memory.partials, row, query_head);
      const RowState total = {.values = first + kRowFloats, .largest = first, .sum = first + 1};
      for (std::size_t split = 1; split < plan.splits; ++split) {
        const float *const more = first + split * (stride + kRowFloats);
        merge_row<S>(total, more + kRowFloats, more[0], more[1], stride);
      }
      write_row<S>(params, row, query_head, total);
    }
  }
}

}  // namespace zllm::kernel::cpu
