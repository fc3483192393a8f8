#pragma once

#include <span>

#include <zllm/base/result.h>
#include <zllm/residual/spec.h>

// What manifold-constrained hyper-connections mean (mHC, DeepSeek, arXiv:2512.24880). X is a row's
// streams [n, width]. f32 in and out, f64 between:
//   f      = X / sqrt(mean of all its squares + norm_epsilon)
//   m      = mixing * flatten(f), split into before [n], after [n], combine [n, n]
//   before = sigmoid(m * scale[0] + base) + epsilon
//   after  = 2 * sigmoid(m * scale[1] + base)
//   C      = softmax of each row of (m * scale[2] + base), + epsilon; then columns divided by
//            (their sum + epsilon), then iterations - 1 times rows and columns likewise
//   input  = sum over k of before[k] * X[k]            what the sublayer reads
//   X'[k]  = after[k] * y + sum over j of C[j, k] * X[j]   y: what the sublayer gives
namespace zllm::residual {

struct HyperConnectionWeights {
  std::span<const float> mixing;  // [mix_width, n * width]
  std::span<const float> base;    // [mix_width]
  std::span<const float> scale;   // [3]
};

Status validate(const HyperConnectionSpec& spec);

// streams [rows, n, width]; input [rows, width]; after [rows, n]; combine [rows, n, n].
void split(const HyperConnectionSpec& spec, const HyperConnectionWeights& weights,
           std::span<const float> streams, std::size_t width, std::span<float> input,
           std::span<float> after, std::span<float> combine);
// Replaces the streams. sublayer [rows, width].
void merge(const HyperConnectionSpec& spec, std::span<const float> sublayer,
           std::span<const float> after, std::span<const float> combine, std::size_t width,
           std::span<float> streams);

// Every stream a copy of the row, and the mean of the streams.
void expand(std::span<const float> rows, std::size_t width, std::uint32_t streams,
            std::span<float> out);
void collapse(std::span<const float> streams, std::size_t width, std::uint32_t count,
              std::span<float> out);

}  // namespace zllm::residual
