#pragma once

#include <zllm/kernel/cpu/delta_rule_replay-inl.h>

namespace zllm::kernel::cpu {

// Prepared rows passing over some columns of a head's matrix; all pointers at the first column.
struct ColumnPass {
  std::size_t rows = 0;
  std::size_t key_width = 0;
  std::size_t from_stride = 0;
  std::size_t to_stride = 0;
  std::size_t mixed_stride = 0;  // of keys, queries and values
  std::size_t columns = 0;       // at most kDeltaRuleVecs vectors
  const float *keys = nullptr;
  const float *queries = nullptr;
  const float *values = nullptr;
  const float *decays = nullptr;  // [rows][key_width]
  const float *betas = nullptr;
  const float *from = nullptr;
  float *to = nullptr;
  float *output = nullptr;
  std::size_t output_stride = 0;
  float *updates = nullptr;  // of the journal, or null
  std::size_t update_stride = 0;
  float *block = nullptr;
};

// Sums over key channels in two chains, even and odd, for the latency of an addition.
template <class S, std::size_t kVecs>
struct ColumnSums {
  typename S::Vec chains[2][kVecs];

  ColumnSums() {
    for (auto& chain : chains) {
      for (auto& sum : chain) {
        sum = S::zero();
      }
    }
  }
  void add(std::size_t chain, std::size_t vec, typename S::Vec factor, typename S::Vec value) {
    chains[chain][vec] = S::fma(factor, value, chains[chain][vec]);
  }
  typename S::Vec total(std::size_t vec) const { return S::add(chains[0][vec], chains[1][vec]); }
};

// step(i, chain) for every key channel, chain = i mod 2 known when compiled.
template <class S, class Step>
void for_key_channels(std::size_t count, Step step) {
  std::size_t i = 0;
  for (; i + 2 <= count; i += 2) {
    step(i, 0);
    step(i + 1, 1);
  }
  if (i < count) {
    step(i, 0);
  }
}

// Lanes of each vector that are columns of the matrix; kWhole: all of them.
template <class S, std::size_t kVectors, bool kWhole>
struct Columns {
  static constexpr std::size_t kVecs = kVectors;
  std::size_t count;

  std::size_t lanes(std::size_t vec) const {
    if constexpr (kWhole) {
      return S::kLanes;
    }
    const std::size_t first = vec * S::kLanes;
    const std::size_t left = count > first ? count - first : 0;
    return left < S::kLanes ? left : S::kLanes;
  }
};

// M^T key of the first row after its decay; keep(i, vec, element) sees diag(decay) M.
template <class S, class Block, class Keep>
ColumnSums<S, Block::kVecs> enter_first_row(ColumnPass pass, Block columns, Keep keep) {
  ColumnSums<S, Block::kVecs> read;
  for_key_channels<S>(pass.key_width, [&](std::size_t i, std::size_t chain) {
    const auto decay = S::set(pass.decays[i]);
    const auto key = S::set(pass.keys[i]);
    for (std::size_t vec = 0; vec < Block::kVecs; ++vec) {
      const auto element = S::multiply(
          decay,
          load_some<S>(pass.from + i * pass.from_stride + vec * S::kLanes, columns.lanes(vec)));
      read.add(chain, vec, key, element);
      keep(i, vec, element);
    }
  });
  return read;
}

// What a row adds to the state: beta * (value - M^T key).
template <class S, class Block>
void find_update(ColumnPass pass, Block columns, std::size_t row,
                 const ColumnSums<S, Block::kVecs>& read, typename S::Vec (&update)[Block::kVecs]) {
  for (std::size_t vec = 0; vec < Block::kVecs; ++vec) {
    const auto value =
        load_some<S>(pass.values + row * pass.mixed_stride + vec * S::kLanes, columns.lanes(vec));
    update[vec] = S::multiply(S::set(pass.betas[row]), S::subtract(value, read.total(vec)));
    if (pass.updates != nullptr) {
      store_some<S>(pass.updates + row * pass.update_stride + vec * S::kLanes, update[vec],
                    columns.lanes(vec));
    }
  }
}

template <class S, class Block>
void write_output(ColumnPass pass, Block columns, std::size_t row,
                  const ColumnSums<S, Block::kVecs>& output) {
  for (std::size_t vec = 0; vec < Block::kVecs; ++vec) {
    store_some<S>(pass.output + row * pass.output_stride + vec * S::kLanes, output.total(vec),
                  columns.lanes(vec));
  }
}

// What a row's pass over the block finds. Sums live in a function's own variables while it stores
// elements, which to a compiler could be anywhere.
template <class S>
struct RowSums {
  ColumnSums<S, kDeltaRuleVecs> output;  // M^T query
  ColumnSums<S, kDeltaRuleVecs> next;    // M^T key of the next row after its decay
};

// The block takes a row's update and is read by its query, then decays and is read by the next
// row's key: one pass over it for each row.
template <class S>
RowSums<S> pass_row(ColumnPass pass, std::size_t row,
                    const typename S::Vec (&row_update)[kDeltaRuleVecs]) {
  constexpr std::size_t kStride = kDeltaRuleVecs * S::kLanes;
  const float *const keys = pass.keys + row * pass.mixed_stride;
  const float *const queries = pass.queries + row * pass.mixed_stride;
  const float *const next_keys = keys + pass.mixed_stride;
  const float *const next_decays = pass.decays + (row + 1) * pass.key_width;
  typename S::Vec update[kDeltaRuleVecs];
  for (std::size_t vec = 0; vec < kDeltaRuleVecs; ++vec) {
    update[vec] = row_update[vec];
  }
  RowSums<S> sums;
  for_key_channels<S>(pass.key_width, [&](std::size_t i, std::size_t chain) {
    const auto key = S::set(keys[i]);
    const auto query = S::set(queries[i]);
    const auto next_decay = S::set(next_decays[i]);
    const auto next_key = S::set(next_keys[i]);
    for (std::size_t vec = 0; vec < kDeltaRuleVecs; ++vec) {
      float *const place = pass.block + i * kStride + vec * S::kLanes;
      auto element = S::fma(key, update[vec], S::load(place));
      sums.output.add(chain, vec, query, element);
      element = S::multiply(next_decay, element);
      sums.next.add(chain, vec, next_key, element);
      S::store(place, element);
    }
  });
  return sums;
}

// The same of the last row, whose elements are the state.
template <class S, class Block>
ColumnSums<S, kDeltaRuleVecs> pass_last_row(ColumnPass pass, Block columns,
                                            const typename S::Vec (&row_update)[kDeltaRuleVecs]) {
  constexpr std::size_t kStride = kDeltaRuleVecs * S::kLanes;
  const float *const keys = pass.keys + (pass.rows - 1) * pass.mixed_stride;
  const float *const queries = pass.queries + (pass.rows - 1) * pass.mixed_stride;
  typename S::Vec update[kDeltaRuleVecs];
  for (std::size_t vec = 0; vec < kDeltaRuleVecs; ++vec) {
    update[vec] = row_update[vec];
  }
  ColumnSums<S, kDeltaRuleVecs> output;
  for_key_channels<S>(pass.key_width, [&](std::size_t i, std::size_t chain) {
    const auto key = S::set(keys[i]);
    const auto query = S::set(queries[i]);
    for (std::size_t vec = 0; vec < kDeltaRuleVecs; ++vec) {
      const auto element =
          S::fma(key, update[vec], S::load(pass.block + i * kStride + vec * S::kLanes));
      output.add(chain, vec, query, element);
      store_some<S>(pass.to + i * pass.to_stride + vec * S::kLanes, element, columns.lanes(vec));
    }
  });
  return output;
}

// Every element and sum goes through the same operations in the same order however rows were cut
// into passes.
template <class S, class Block>
void pass_rows(ColumnPass pass, Block columns) {
  constexpr std::size_t kVecs = Block::kVecs;
  ColumnSums<S, kVecs> read = enter_first_row<S>(
      pass, columns, [&](std::size_t i, std::size_t vec, typename S::Vec element) {
        S::store(pass.block + (i * kVecs + vec) * S::kLanes, element);
      });
  for (std::size_t row = 0; row < pass.rows; ++row) {
    typename S::Vec update[kVecs];
    find_update<S>(pass, columns, row, read, update);
    if (row + 1 < pass.rows) {
      const RowSums<S> sums = pass_row<S>(pass, row, update);
      write_output<S>(pass, columns, row, sums.output);
      read = sums.next;
    } else {
      write_output<S>(pass, columns, row, pass_last_row<S>(pass, columns, update));
    }
  }
}

// One row's pass is as fast as memory: it takes more columns at a time, so that it reads in order,
// and reads the state twice instead of keeping a block.
template <class S, class Block>
void pass_only_row(ColumnPass pass, Block columns) {
  const auto read =
      enter_first_row<S>(pass, columns, [](std::size_t, std::size_t, typename S::Vec) {});
  typename S::Vec update[Block::kVecs];
  find_update<S>(pass, columns, 0, read, update);
  ColumnSums<S, Block::kVecs> output;
  for_key_channels<S>(pass.key_width, [&](std::size_t i, std::size_t chain) {
    const auto decay = S::set(pass.decays[i]);
    const auto key = S::set(pass.keys[i]);
    const auto query = S::set(pass.queries[i]);
    for (std::size_t vec = 0; vec < Block::kVecs; ++vec) {
      const std::size_t column = vec * S::kLanes;
      const auto before =
          load_some<S>(pass.from + i * pass.from_stride + column, columns.lanes(vec));
      const auto element = S::fma(key, update[vec], S::multiply(decay, before));
      output.add(chain, vec, query, element);
      store_some<S>(pass.to + i * pass.to_stride + column, element, columns.lanes(vec));
    }
  });
  write_output<S>(pass, columns, 0, output);
}

// Two sums and an update for each vector of one row's pass fill the registers.
template <class S>
constexpr std::size_t kRowVecs = S::kLanes == kWidestVec ? 8 : 4;

template <class S>
void pass_columns(const ColumnPass& pass, std::size_t count) {
  constexpr std::size_t kVecs = kDeltaRuleVecs;
  if (pass.rows == 1 && count == kRowVecs<S> * S::kLanes) {
    pass_only_row<S>(pass, Columns<S, kRowVecs<S>, true>{count});
  } else if (pass.rows == 1) {
    pass_only_row<S>(pass, Columns<S, kRowVecs<S>, false>{count});
  } else if (count == kVecs * S::kLanes) {
    pass_rows<S>(pass, Columns<S, kVecs, true>{count});
  } else {
    pass_rows<S>(pass, Columns<S, kVecs, false>{count});
  }
}

// Inputs, keys and decays of prepared rows; the passes write the updates.
template <class S>
void write_journal(const DeltaRuleParams& params, std::size_t head, std::size_t first_row,
                   std::size_t rows, const DeltaRuleLayout& layout, const float *scratch) {
  const DeltaRuleShape& shape = params.shape;
  const DeltaRuleJournal places = journal_of(shape);
  const std::size_t shared = shape.value_heads / shape.key_heads;
  const std::size_t decays = shape.decay_per_channel ? shape.key_width : 1;
  for (std::size_t i = 0; i < rows; ++i) {
    float *const entry = params.journal + (first_row + i) * places.width;
    const float *const mixed = params.mixed + (first_row + i) * params.mixed_stride;
    own_channels<S>(shape, head, [&](std::size_t first, std::size_t count) {
      __builtin_memcpy(entry + first, mixed + first, count * sizeof(float));
    });
    if (head % shared == 0) {
      __builtin_memcpy(entry + places.keys + head / shared * shape.key_width,
                       scratch + layout.mixed + i * layout.channels + shape.key_width,
                       shape.key_width * sizeof(float));
    }
    __builtin_memcpy(entry + places.decays + head * decays,
                     scratch + layout.decays + i * shape.key_width, decays * sizeof(float));
  }
}

// Prepared rows from `first_row` on over all columns of the head, from `source` (null: zeros).
template <class S>
void pass_head(const DeltaRuleParams& params, std::size_t head, std::size_t first_row,
               std::size_t rows, const float *source, const DeltaRuleLayout& layout,
               float *scratch) {
  const DeltaRuleShape& shape = params.shape;
  const DeltaRuleJournal places = journal_of(shape);
  const std::size_t matrix = head * shape.key_width * shape.value_width;
  static constexpr float kZeros[kRowVecs<S> * S::kLanes] = {};  // a row of columns
  const std::size_t columns = (rows == 1 ? kRowVecs<S> : kDeltaRuleVecs) * S::kLanes;
  for (std::size_t column = 0; column < shape.value_width; column += columns) {
    const std::size_t left = shape.value_width - column;
    const std::size_t value = head * shape.value_width + column;
    float *const updates = params.journal == nullptr
                               ? nullptr
                               : params.journal + first_row * places.width + places.updates + value;
    const ColumnPass pass = {.rows = rows,
                             .key_width = shape.key_width,
                             .from_stride = source == nullptr ? 0 : shape.value_width,
                             .to_stride = shape.value_width,
                             .mixed_stride = layout.channels,
                             .keys = scratch + layout.mixed + shape.key_width,
                             .queries = scratch + layout.mixed,
                             .values = scratch + layout.mixed + 2 * shape.key_width + column,
                             .decays = scratch + layout.decays,
                             .betas = scratch + layout.betas,
                             .from = source == nullptr ? kZeros : source + matrix + column,
                             .to = params.to.matrices + matrix + column,
                             .output = params.output + first_row * params.output_stride + value,
                             .output_stride = params.output_stride,
                             .updates = updates,
                             .update_stride = places.width,
                             .block = scratch + layout.block};
    pass_columns<S>(pass, left < columns ? left : columns);
  }
}

// Columns are passed some at a time, which no prefetcher follows; asked for in order, a head's
// matrices come at the speed of memory. Inlined, or GCC drops the call as one without effect.
template <class S>
[[gnu::always_inline]] inline void prefetch_matrices(const DeltaRuleParams& params,
                                                     std::size_t head) {
  constexpr std::size_t kLine = 16;
  const std::size_t elements = params.shape.key_width * params.shape.value_width;
  for (std::size_t i = 0; i < elements; i += kLine) {
    if (params.from.matrices != nullptr) {
      __builtin_prefetch(params.from.matrices + head * elements + i, 0, 2);
    }
    __builtin_prefetch(params.to.matrices + head * elements + i, 1, 2);
  }
}

template <class S>
void delta_rule(const DeltaRuleParams& params, std::size_t head, float *scratch) {
  const DeltaRuleShape& shape = params.shape;
  const DeltaRuleLayout layout = delta_rule_layout(shape);
  const ConvolutionInputs<S> inputs{
      .tail = params.from.matrices == nullptr ? nullptr : params.from.tail,
      .rows = params.mixed,
      .channels = channels_of(shape),
      .stride = params.mixed_stride,
      .before = shape.taps - 1};
  prefetch_matrices<S>(params, head);
  gather_taps<S>(params, head, layout, scratch);
  const float rate = rate_of<S>(params, head);
  const float *source = params.from.matrices;
  for (std::size_t first = 0; first < params.rows; first += kDeltaRuleRows) {
    const std::size_t left = params.rows - first;
    const std::size_t rows = left < kDeltaRuleRows ? left : kDeltaRuleRows;
    gather_inputs<S>(params, head, inputs, first, rows, layout, scratch);
    for (std::size_t i = 0; i < rows; ++i) {
      prepare_row<S>(params, head, first + i, i, rate, layout, scratch);
    }
    if (params.journal != nullptr) {
      write_journal<S>(params, head, first, rows, layout, scratch);
    }
    pass_head<S>(params, head, first, rows, source, layout, scratch);
    source = params.to.matrices;
  }
  write_tail<S>(shape, head, inputs, params.rows, params.to.tail);
}

template <class S>
constexpr DeltaRuleKernels make_delta_rule_kernels() {
  return {.delta_rule = delta_rule<S>, .replay = replay_delta_rule<S>};
}

}  // namespace zllm::kernel::cpu
