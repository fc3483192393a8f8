#pragma once

#include <zllm/kernel/cpu/latent_tile-inl.h>
#include <zllm/kernel/cpu/softmax_state-inl.h>

namespace zllm::kernel::cpu {

// Room before the values of a partial state, which then lie on a cache line border.
constexpr std::size_t kStateFloats = 16;

// Merged states of a task's pairs.
template <class S>
struct LatentStates {
  float *contexts;  // [pairs][value_width]
  float *largest;   // [pairs]
  float *sums;      // [pairs]
  std::size_t value_width;

  RowState of(std::size_t pair) const {
    return {.values = contexts + pair * value_width, .largest = largest + pair, .sum = sums + pair};
  }
};

// A task's pairs in the order row, head, and its memory. latent_plan.cpp counts these arrays.
template <class S>
struct LatentBlock {
  const LatentParams& params;
  const LatentTask& task;
  std::size_t count;  // of pairs
  LatentPairs<S> pairs;
  float *visible;  // that of pairs
  LatentStates<S> span;
  LatentStates<S> total;
  float *keys;  // [kPageTokens][stride of a page]
  std::size_t fewest_keys;
  std::size_t most_keys;
};

template <class S>
LatentBlock<S> make_latent_block(const LatentParams& params, const LatentTask& task,
                                 float *scratch) {
  const auto take = [&scratch](std::size_t floats) {
    float *const taken = scratch;
    scratch += floats;
    return taken;
  };
  const std::size_t count = task.row_count * task.head_count;
  const std::size_t padded = (count + S::kLanes - 1) / S::kLanes * S::kLanes;
  const std::size_t line = (count + 15) / 16 * 16;
  const std::size_t width = params.latent + params.rope;
  const std::size_t value_width = latent_stride(params.latent);
  const auto take_states = [&] {
    return LatentStates<S>{.contexts = take(count * value_width),
                           .largest = take(line),
                           .sums = take(line),
                           .value_width = value_width};
  };
  LatentBlock<S> block = {.params = params,
                          .task = task,
                          .count = count,
                          .pairs = {.padded = padded,
                                    .width = width,
                                    .value_width = value_width,
                                    .queries = take(line * width),
                                    .scores = take(kPageTokens * line),
                                    .shrink = take(line),
                                    .largest = take(line),
                                    .sums = take(line),
                                    .contexts = take(count * value_width),
                                    .visible_keys = nullptr},
                          .visible = take(line),
                          .span = take_states(),
                          .total = take_states(),
                          .keys = take(kPageTokens * latent_stride(width)),
                          .fewest_keys = visible_keys(params, task.first_row),
                          .most_keys = visible_keys(params, task.first_row + task.row_count - 1)};
  block.pairs.visible_keys = block.visible;
  return block;
}

template <class S>
void pack_latent_queries(const LatentBlock<S>& block) {
  constexpr std::size_t kSlab = 2 * S::kLanes;
  const LatentPairs<S>& pairs = block.pairs;
  const std::size_t row_stride = block.params.heads * pairs.width;
  for (std::size_t first = 0; first < pairs.padded; first += kSlab) {
    const std::size_t lanes = pairs.padded - first < kSlab ? pairs.padded - first : kSlab;
    float *const to = pairs.queries + first * pairs.width;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const std::size_t pair = first + lane;
      const float *const from =
          pair < block.count
              ? block.params.rows +
                    (block.task.first_row + pair / block.task.head_count) * row_stride +
                    (block.task.first_head + pair % block.task.head_count) * pairs.width
              : nullptr;
      for (std::size_t d = 0; d < pairs.width; ++d) {
        to[d * lanes + lane] = from != nullptr ? from[d] : 0.0F;
      }
    }
  }
}

template <class S>
void reset_latent(const LatentBlock<S>& block) {
  for (std::size_t i = 0; i < block.count * block.pairs.value_width; i += S::kLanes) {
    S::store(block.pairs.contexts + i, S::zero());
  }
  for (std::size_t i = 0; i < block.pairs.padded; i += S::kLanes) {
    S::store(block.pairs.sums + i, S::zero());
    S::store(block.pairs.largest + i, S::set(-__builtin_inff()));
  }
}

// The bytes of key number `index` of the block's rows.
template <class S>
const std::byte *latent_key(const LatentBlock<S>& block, std::size_t index, std::size_t row_bytes) {
  const SelectedPositions *const selected = block.params.selected;
  const std::size_t position =
      selected != nullptr ? selected[block.task.first_row].positions[index] : index;
  return block.params.pages[position / kPageTokens] + position % kPageTokens * row_bytes;
}

// Keys [first, first + count) as rows of f32: a page where that is how it holds them.
template <class S>
LatentGroup load_group(const LatentBlock<S>& block, std::size_t first, std::size_t count,
                       std::size_t stride) {
  const bool halves = block.params.type == KvType::f16;
  const std::size_t row_bytes = stride * (halves ? sizeof(std::uint16_t) : sizeof(float));
  if (!halves && block.params.selected == nullptr) {
    const std::byte *const page = block.params.pages[first / kPageTokens];
    return {.keys = reinterpret_cast<const float *>(page), .stride = stride, .count = count};
  }
  for (std::size_t key = 0; key < count; ++key) {
    const std::byte *const from = latent_key(block, first + key, row_bytes);
    float *const to = block.keys + key * stride;
    for (std::size_t d = 0; d < stride; d += S::kLanes) {
      S::store(to + d, halves ? S::load(reinterpret_cast<const std::uint16_t *>(from) + d)
                              : S::load(reinterpret_cast<const float *>(from) + d));
    }
  }
  return {.keys = block.keys, .stride = stride, .count = count};
}

// Notes how many keys of the group each pair sees.
template <class S>
void see_group(const LatentBlock<S>& block, std::size_t first) {
  float *visible = block.visible;
  for (std::size_t row = 0; row < block.task.row_count; ++row) {
    const std::size_t end = visible_keys(block.params, block.task.first_row + row);
    const std::size_t keys = end > first ? end - first : 0;
    for (std::size_t head = 0; head < block.task.head_count; ++head) {
      *visible++ = static_cast<float>(keys < kPageTokens ? keys : kPageTokens);
    }
  }
  while (visible < block.visible + block.pairs.padded) {
    *visible++ = 0.0F;
  }
}

template <class S>
void run_latent_group(const LatentBlock<S>& block, std::size_t first, std::size_t end) {
  const std::size_t stride = latent_stride(block.pairs.width);
  const std::size_t element_bytes = block.params.type == KvType::f16 ? 2 : 4;
  const std::size_t count = end - first < kPageTokens ? end - first : kPageTokens;
  see_group(block, first);
  const LatentGroup group = load_group(block, first, count, stride);
  score_group(block.pairs, group, [&](std::size_t tile) {
    NextKeys<S> next = {.rows = {}, .count = 0, .element_bytes = element_bytes};
    const std::size_t from = first + kPageTokens + tile;
    for (; next.count < kKeyTile<S> && from + next.count < end; ++next.count) {
      next.rows[next.count] = latent_key(block, from + next.count, stride * element_bytes);
    }
    return next;
  });
  weigh_group(block.pairs, count, block.params.scale);
  if (block.fewest_keys >= first + count) {
    add_values(block.pairs, 0, block.count, group);
    return;
  }
  // Keys that a row does not see are never multiplied, not even by zero: they may be anything.
  const std::size_t heads = block.task.head_count;
  for (std::size_t pair = 0; pair < block.count; pair += heads) {
    const auto seen = static_cast<std::size_t>(block.visible[pair]);
    if (seen > 0) {
      add_values(block.pairs, pair, pair + heads,
                 {.keys = group.keys, .stride = stride, .count = seen < count ? seen : count});
    }
  }
}

template <class S>
void run_latent_split(const LatentBlock<S>& block, std::size_t split) {
  reset_latent(block);
  const std::size_t last = (split + 1) * kSplitKeys;
  const std::size_t end = last < block.most_keys ? last : block.most_keys;
  for (std::size_t first = split * kSplitKeys; first < end; first += kPageTokens) {
    run_latent_group(block, first, end);
  }
}

// A row without keys gets zeros.
template <class S>
void write_context(const LatentParams& params, std::size_t row, std::size_t head,
                   const RowState& total) {
  float *const to = params.rows + (row * params.heads + head) * (params.latent + params.rope);
  const float sum = *total.sum;
  for (std::size_t d = 0; d < params.latent; d += S::kLanes) {
    const std::size_t left = params.latent - d;
    const auto value = sum == 0.0F ? S::zero() : S::divide(S::load(total.values + d), S::set(sum));
    S::store_first(to + d, value, left < S::kLanes ? left : S::kLanes);
  }
}

// to += from, where both have states of the task's pairs.
template <class S>
void merge_states(const LatentBlock<S>& block, const LatentStates<S>& to,
                  const LatentStates<S>& from) {
  for (std::size_t pair = 0; pair < block.count; ++pair) {
    const RowState more = from.of(pair);
    merge_row<S>(to.of(pair), more.values, *more.largest, *more.sum, from.value_width);
  }
}

// Runs splits [first, last) of one span and leaves their merged state in block.span.
template <class S>
void run_latent_span(const LatentBlock<S>& block, std::size_t first, std::size_t last) {
  for (std::size_t pair = 0; pair < block.count; ++pair) {
    block.span.sums[pair] = 0.0F;
  }
  for (std::size_t split = first; split < last; ++split) {
    run_latent_split(block, split);
    merge_states(block, block.span,
                 {.contexts = block.pairs.contexts,
                  .largest = block.pairs.largest,
                  .sums = block.pairs.sums,
                  .value_width = block.pairs.value_width});
  }
}

template <class S>
void latent_whole(const LatentBlock<S>& block) {
  for (std::size_t pair = 0; pair < block.count; ++pair) {
    block.total.sums[pair] = 0.0F;
  }
  const std::size_t splits = (block.most_keys + kSplitKeys - 1) / kSplitKeys;
  for (std::size_t first = 0; first < splits; first += kSpanSplits) {
    const std::size_t last = first + kSpanSplits;
    run_latent_span(block, first, last < splits ? last : splits);
    merge_states(block, block.total, block.span);
  }
  for (std::size_t pair = 0; pair < block.count; ++pair) {
    write_context<S>(block.params, block.task.first_row + pair / block.task.head_count,
                     block.task.first_head + pair % block.task.head_count, block.total.of(pair));
  }
}

// A state of a split or span lies as [largest, sum, ..., context from kStateFloats on].
template <class S>
void latent_partial(const LatentBlock<S>& block, const LatentPlan& plan, float *partials) {
  const LatentTask& task = block.task;
  const std::size_t value_width = block.pairs.value_width;
  const std::size_t end = task.first_split + task.split_count;
  for (std::size_t first = task.first_split; first < end; first += plan.state_splits) {
    const std::size_t last = first + plan.state_splits;
    run_latent_span(block, first, last < end ? last : end);
    for (std::size_t pair = 0; pair < block.count; ++pair) {
      const std::size_t row = task.first_row + pair / task.head_count;
      const std::size_t head = task.first_head + pair % task.head_count;
      const std::size_t state =
          (row * block.params.heads + head) * plan.states() + first / plan.state_splits;
      float *const to = partials + state * (value_width + kStateFloats);
      const RowState from = block.span.of(pair);
      to[0] = *from.largest;
      to[1] = *from.sum;
      for (std::size_t d = 0; *from.sum != 0.0F && d < value_width; d += S::kLanes) {
        S::store(to + kStateFloats + d, S::load(from.values + d));
      }
    }
  }
}

template <class S>
void latent_attention(const LatentParams& params, const LatentPlan& plan, const LatentTask& task,
                      const AttentionMemory& memory) {
  const LatentBlock<S> block = make_latent_block<S>(params, task, memory.scratch);
  pack_latent_queries(block);
  if (task.split_count == 0) {
    latent_whole(block);
  } else {
    latent_partial(block, plan, memory.partials);
  }
}

// Merges the states of each span into its first, then those into the first of all.
template <class S>
void latent_merge(const LatentParams& params, const LatentPlan& plan, std::size_t index,
                  float *partials) {
  const std::size_t value_width = latent_stride(params.latent);
  const std::size_t floats = value_width + kStateFloats;
  const std::size_t span_states = kSpanSplits / plan.state_splits;
  float *const all = partials + index * plan.states() * floats;
  const auto state = [&](std::size_t i) {
    float *const at = all + i * floats;
    return RowState{.values = at + kStateFloats, .largest = at, .sum = at + 1};
  };
  for (std::size_t first = 0; first < plan.states(); first += span_states) {
    for (std::size_t i = first + 1; i < first + span_states && i < plan.states(); ++i) {
      merge_row<S>(state(first), state(i).values, *state(i).largest, *state(i).sum, value_width);
    }
    if (first != 0) {
      const RowState span = state(first);
      merge_row<S>(state(0), span.values, *span.largest, *span.sum, value_width);
    }
  }
  write_context<S>(params, index / params.heads, index % params.heads, state(0));
}

}  // namespace zllm::kernel::cpu
