#pragma once

#include <cstddef>

#include <zllm/kernel/cpu/exponential-inl.h>

// Softmax states of one row over parts of its keys, with scores in units of ln 2.
namespace zllm::kernel::cpu {

// One row's state of a split, or of all splits so far.
struct RowState {
  float *values;
  float *largest;
  float *sum;
};

// total += more, the later split. A split of which the row sees nothing has sum 0.
template <class S>
void merge_row(const RowState& total, const float *values, float largest, float sum,
               std::size_t stride) {
  if (sum == 0.0F) {
    return;
  }
  if (*total.sum == 0.0F) {
    for (std::size_t i = 0; i < stride; i += S::kLanes) {
      S::store(total.values + i, S::load(values + i));
    }
    *total.largest = largest;
    *total.sum = sum;
    return;
  }
  const float both = largest > *total.largest ? largest : *total.largest;
  const float keep = power_of_two_of<S>(*total.largest - both);
  const float take = power_of_two_of<S>(largest - both);
  for (std::size_t i = 0; i < stride; i += S::kLanes) {
    const auto kept = S::multiply(S::load(total.values + i), S::set(keep));
    S::store(total.values + i, S::fma(S::load(values + i), S::set(take), kept));
  }
  *total.largest = both;
  *total.sum = *total.sum * keep + sum * take;
}

}  // namespace zllm::kernel::cpu
