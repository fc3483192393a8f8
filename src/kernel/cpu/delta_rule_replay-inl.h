#pragma once

#include <zllm/kernel/cpu/delta_rule_inputs-inl.h>

namespace zllm::kernel::cpu {

// Vectors of a matrix row that go through the replayed rows together.
constexpr std::size_t kReplayVecs = 4;

template <class S>
typename S::Vec load_some(const float *from, std::size_t lanes) {
  return lanes == S::kLanes ? S::load(from) : S::load_first(from, lanes);
}
template <class S>
void store_some(float *to, typename S::Vec v, std::size_t lanes) {
  if (lanes == S::kLanes) {
    S::store(to, v);
  } else {
    S::store_first(to, v, lanes);
  }
}

// What the head needs of the journal's rows, next to each other: [key | update] of a row where the
// recurrence keeps [query | key | value].
template <class S>
void gather_journal(const DeltaRuleReplay& params, std::size_t head, const DeltaRuleLayout& layout,
                    float *scratch) {
  const DeltaRuleShape& shape = params.shape;
  const DeltaRuleJournal places = journal_of(shape);
  const std::size_t width = shape.key_width;
  const std::size_t key_head = head / (shape.value_heads / shape.key_heads);
  const std::size_t decays = shape.decay_per_channel ? width : 1;
  for (std::size_t row = 0; row < params.rows; ++row) {
    const float *const entry = params.journal + row * places.width;
    float *const key = scratch + layout.mixed + row * layout.channels;
    float *const factors = scratch + layout.decays + row * width;
    __builtin_memcpy(key, entry + places.keys + key_head * width, width * sizeof(float));
    __builtin_memcpy(key + width, entry + places.updates + head * shape.value_width,
                     shape.value_width * sizeof(float));
    __builtin_memcpy(factors, entry + places.decays + head * decays, decays * sizeof(float));
    for (std::size_t i = decays; i < width; ++i) {
      factors[i] = factors[0];
    }
  }
}

// kVecs vectors of row i of the matrix, from a column on; `lanes` of the last one are there.
template <class S, std::size_t kVecs>
void replay_elements(const DeltaRuleReplay& params, const DeltaRuleLayout& layout,
                     const float *scratch, std::size_t i, std::size_t column, std::size_t lanes,
                     const float *from, float *to) {
  const DeltaRuleShape& shape = params.shape;
  const auto lanes_of = [&](std::size_t vec) { return vec + 1 < kVecs ? S::kLanes : lanes; };
  typename S::Vec elements[kVecs];
  for (std::size_t vec = 0; vec < kVecs; ++vec) {
    elements[vec] =
        from == nullptr ? S::zero() : load_some<S>(from + vec * S::kLanes, lanes_of(vec));
  }
  const float *const keys = scratch + layout.mixed + i;
  const float *const decays = scratch + layout.decays + i;
  const float *const updates = scratch + layout.mixed + shape.key_width + column;
  for (std::size_t row = 0; row < params.rows; ++row) {
    const auto key = S::set(keys[row * layout.channels]);
    const auto decay = S::set(decays[row * shape.key_width]);
    for (std::size_t vec = 0; vec < kVecs; ++vec) {
      const auto update =
          load_some<S>(updates + row * layout.channels + vec * S::kLanes, lanes_of(vec));
      elements[vec] = S::fma(key, update, S::multiply(decay, elements[vec]));
    }
  }
  for (std::size_t vec = 0; vec < kVecs; ++vec) {
    store_some<S>(to + vec * S::kLanes, elements[vec], lanes_of(vec));
  }
}

// Each element of the matrix goes through all rows at once.
template <class S>
void replay_delta_rule(const DeltaRuleReplay& params, std::size_t head, float *scratch) {
  const DeltaRuleShape& shape = params.shape;
  const DeltaRuleLayout layout = delta_rule_layout(shape);
  gather_journal<S>(params, head, layout, scratch);
  constexpr std::size_t kColumns = kReplayVecs * S::kLanes;
  for (std::size_t i = 0; i < shape.key_width; ++i) {
    const std::size_t begin = (head * shape.key_width + i) * shape.value_width;
    const float *const from =
        params.from.matrices == nullptr ? nullptr : params.from.matrices + begin;
    float *const to = params.to.matrices + begin;
    std::size_t column = 0;
    for (; column + kColumns <= shape.value_width; column += kColumns) {
      replay_elements<S, kReplayVecs>(params, layout, scratch, i, column, S::kLanes,
                                      from == nullptr ? nullptr : from + column, to + column);
    }
    for (; column < shape.value_width; column += S::kLanes) {
      const std::size_t left = shape.value_width - column;
      replay_elements<S, 1>(params, layout, scratch, i, column, left < S::kLanes ? left : S::kLanes,
                            from == nullptr ? nullptr : from + column, to + column);
    }
  }
  const ConvolutionInputs<S> inputs{
      .tail = params.from.matrices == nullptr ? nullptr : params.from.tail,
      .rows = params.journal,
      .channels = channels_of(shape),
      .stride = journal_of(shape).width,
      .before = shape.taps - 1};
  write_tail<S>(shape, head, inputs, params.rows, params.to.tail);
}

}  // namespace zllm::kernel::cpu
