#pragma once

#include <zllm/kernel/cpu/delta_rule_scratch.h>
#include <zllm/kernel/cpu/exponential-inl.h>
#include <zllm/kernel/cpu/norm-inl.h>

namespace zllm::kernel::cpu {

// The convolution's inputs from the tail's first on: row r reads numbers r to r + taps - 1.
template <class S>
struct ConvolutionInputs {
  const float *tail = nullptr;  // null: zeros
  const float *rows = nullptr;
  std::size_t channels = 0;
  std::size_t stride = 0;  // of the rows
  std::size_t before = 0;  // rows of the tail

  // Null: zeros.
  const float *at(std::size_t number) const {
    if (number < before) {
      return tail == nullptr ? nullptr : tail + number * channels;
    }
    return rows + (number - before) * stride;
  }
};

// Calls part(first channel, channels) for what this value head keeps: its values, and with the
// first value head of a key head that one's queries and keys.
template <class S, class Part>
void own_channels(const DeltaRuleShape& shape, std::size_t head, Part part) {
  const std::size_t shared = shape.value_heads / shape.key_heads;
  if (head % shared == 0) {
    part(head / shared * shape.key_width, shape.key_width);
    part(keys_of(shape) + head / shared * shape.key_width, shape.key_width);
  }
  part(2 * keys_of(shape) + head * shape.value_width, shape.value_width);
}

// The head's channels of the tail after `rows` rows.
template <class S>
void write_tail(const DeltaRuleShape& shape, std::size_t head, const ConvolutionInputs<S>& inputs,
                std::size_t rows, float *tail) {
  own_channels<S>(shape, head, [&](std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i + 1 < shape.taps; ++i) {
      const float *const from = inputs.at(rows + i);
      float *const to = tail + i * inputs.channels + first;
      if (from == nullptr) {
        __builtin_memset(to, 0, count * sizeof(float));
      } else {
        __builtin_memcpy(to, from + first, count * sizeof(float));
      }
    }
  });
}

// Calls part(first channel, channels, place) for what this value head reads, place being that among
// the head's channels.
template <class S, class Part>
void read_channels(const DeltaRuleShape& shape, std::size_t head, Part part) {
  const std::size_t width = shape.key_width;
  const std::size_t key_head = head / (shape.value_heads / shape.key_heads);
  part(key_head * width, width, std::size_t{0});
  part(keys_of(shape) + key_head * width, width, width);
  part(2 * keys_of(shape) + head * shape.value_width, shape.value_width, 2 * width);
}

// The head's inputs of rows from `row` on, next to each other: in memory rows lie a large power of
// two apart, which few lines of a cache can hold.
template <class S>
void gather_inputs(const DeltaRuleParams& params, std::size_t head,
                   const ConvolutionInputs<S>& inputs, std::size_t row, std::size_t rows,
                   const DeltaRuleLayout& layout, float *scratch) {
  const DeltaRuleShape& shape = params.shape;
  const std::size_t decays = shape.decay_per_channel ? shape.key_width : 1;
  for (std::size_t i = 0; i < rows; ++i) {
    __builtin_memcpy(scratch + layout.decays + i * shape.key_width,
                     params.decay + (row + i) * params.decay_stride + head * decays,
                     decays * sizeof(float));
  }
  for (std::size_t i = 0; i < inputs.before + rows; ++i) {
    const float *const from = inputs.at(row + i);
    float *const to = scratch + layout.inputs + i * layout.channels;
    if (from == nullptr) {
      __builtin_memset(to, 0, layout.channels * sizeof(float));
      continue;
    }
    read_channels<S>(shape, head, [&](std::size_t first, std::size_t count, std::size_t place) {
      __builtin_memcpy(to + place, from + first, count * sizeof(float));
    });
  }
}

// The head's taps, [taps][channels].
template <class S>
void gather_taps(const DeltaRuleParams& params, std::size_t head, const DeltaRuleLayout& layout,
                 float *scratch) {
  const std::size_t taps = params.shape.taps;
  const std::size_t width = params.shape.key_width;
  read_channels<S>(params.shape, head,
                   [&](std::size_t first, std::size_t count, std::size_t place) {
                     const float *from = params.query_taps + first * taps;
                     if (place == width) {
                       from = params.key_taps + (first - keys_of(params.shape)) * taps;
                     } else if (place != 0) {
                       from = params.value_taps + (first - 2 * keys_of(params.shape)) * taps;
                     }
                     float *const to = scratch + layout.taps + place;
                     for (std::size_t i = 0; i < count; ++i) {
                       for (std::size_t tap = 0; tap < taps; ++tap) {
                         to[tap * layout.channels + i] = from[i * taps + tap];
                       }
                     }
                   });
}

template <class S>
typename S::Vec sigmoid(typename S::Vec x) {
  const auto one = S::set(1.0F);
  return S::divide(one, S::add(one, exponential<S>(S::subtract(S::zero(), x))));
}

// silu of the convolution of one row: inputs and taps [taps][channels].
template <class S>
void convolve(const float *inputs, const float *taps, std::size_t tap_count, std::size_t channels,
              float *output) {
  for (std::size_t i = 0; i < channels; i += S::kLanes) {
    const std::size_t lanes = channels - i < S::kLanes ? channels - i : S::kLanes;
    auto sum = S::zero();
    for (std::size_t tap = 0; tap < tap_count; ++tap) {
      sum = S::fma(S::load_first(taps + tap * channels + i, lanes),
                   S::load_first(inputs + tap * channels + i, lanes), sum);
    }
    const auto decay = exponential<S>(S::subtract(S::zero(), sum));
    S::store_first(output + i, S::divide(sum, S::add(S::set(1.0F), decay)), lanes);
  }
}

// values * scale / their length.
template <class S>
void normalise_length(float *values, std::size_t count, float scale) {
  constexpr float kEpsilon = 1e-6F;  // under the root
  const float squares = sum_mapped<S>(
      values, count, [](auto value, std::size_t) { return S::multiply(value, value); });
  const auto factor = S::set(scale / __builtin_sqrtf(squares + kEpsilon));
  for (std::size_t i = 0; i < count; i += S::kLanes) {
    const std::size_t lanes = count - i < S::kLanes ? count - i : S::kLanes;
    S::store_first(values + i, S::multiply(S::load_first(values + i, lanes), factor), lanes);
  }
}

// log(1 + x) for x from 0 to 1: twice the area tangent of x / (2 + x), which is at most 1/3, so
// that eight terms leave 2e-9.
template <class S>
typename S::Vec logarithm_above_one(typename S::Vec x) {
  const auto s = S::divide(x, S::add(S::set(2.0F), x));
  const auto y = S::multiply(s, s);
  auto p = S::set(1.0F / 15.0F);
  constexpr float kDivisors[] = {13.0F, 11.0F, 9.0F, 7.0F, 5.0F, 3.0F, 1.0F};
  for (const float divisor : kDivisors) {
    p = S::fma(p, y, S::set(1.0F / divisor));
  }
  return S::multiply(S::add(s, s), p);
}

// exp of the gate of `count` inputs, in place.
template <class S>
void decay_factors(const DeltaRuleShape& shape, const float *bias, float rate, std::size_t count,
                   float *values) {
  for (std::size_t i = 0; i < count; i += S::kLanes) {
    const std::size_t lanes = count - i < S::kLanes ? count - i : S::kLanes;
    const auto x = S::add(S::load_first(values + i, lanes), S::load_first(bias + i, lanes));
    auto gate = S::zero();
    if (shape.gate == DecayGate::bounded) {
      gate = S::multiply(S::set(shape.lower_bound), sigmoid<S>(S::multiply(S::set(rate), x)));
    } else {
      const auto small = exponential<S>(S::subtract(S::zero(), S::magnitude(x)));
      const auto softplus = S::add(S::maximum(S::zero(), x), logarithm_above_one<S>(small));
      gate = S::multiply(S::set(-rate), softplus);
    }
    S::store_first(values + i, exponential<S>(gate), lanes);
  }
}

template <class S>
float rate_of(const DeltaRuleParams& params, std::size_t head) {
  const float value = params.rates[head];
  return params.shape.rates_are_logarithms
             ? static_cast<float>(__builtin_exp(static_cast<double>(value)))
             : -value;
}

// Makes gathered row `place`, which is row `row` of the segment, ready for the recurrence.
template <class S>
void prepare_row(const DeltaRuleParams& params, std::size_t head, std::size_t row,
                 std::size_t place, float rate, const DeltaRuleLayout& layout, float *scratch) {
  const DeltaRuleShape& shape = params.shape;
  const std::size_t width = shape.key_width;
  float *const query = scratch + layout.mixed + place * layout.channels;
  convolve<S>(scratch + layout.inputs + place * layout.channels, scratch + layout.taps, shape.taps,
              layout.channels, query);
  normalise_length<S>(query, width, 1.0F / __builtin_sqrtf(static_cast<float>(width)));
  normalise_length<S>(query + width, width, 1.0F);

  const std::size_t decays = shape.decay_per_channel ? width : 1;
  float *const factors = scratch + layout.decays + place * width;
  decay_factors<S>(shape, params.decay_bias + head * decays, rate, decays, factors);
  for (std::size_t i = decays; i < width; ++i) {
    factors[i] = factors[0];
  }
  const float beta = params.beta[row * params.beta_stride + head];
  S::store_first(scratch + layout.betas + place, sigmoid<S>(S::set(beta)), 1);
}

}  // namespace zllm::kernel::cpu
