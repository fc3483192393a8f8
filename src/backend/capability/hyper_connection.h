#pragma once

#include <concepts>

#include <zllm/backend/capability/backend.h>
#include <zllm/residual/spec.h>

namespace zllm::backend {

template <class Weight>
struct HyperConnectionWeights {
  const Weight *mixing = nullptr;  // a matrix [mix_width, streams * width]
  const Weight *base = nullptr;    // a vector
  const Weight *scale = nullptr;   // a vector
};

// Several residual streams (residual/hyper_connection.h); streams are tensors of streams * width
// columns. split() writes the sublayer's input [rows, width] and the mixing of the rows, `after`
// then `combine`, [rows, streams + streams^2], which merge() takes with the sublayer's output.
template <class B>
concept HyperConnectionBackend =
    Backend<B> && requires(B& b, typename B::Tensor& t, const typename B::Tensor& ct,
                           const residual::HyperConnectionSpec& spec) {
      {
        b.split_streams(spec, HyperConnectionWeights<typename B::Weight>{}, ct, t, t)
      } -> std::same_as<Status>;                                     // streams, input, mixing
      { b.merge_streams(spec, ct, ct, t) } -> std::same_as<Status>;  // sublayer, mixing, streams
      { b.expand_streams(ct, t) } -> std::same_as<Status>;           // copies of each row
      { b.collapse_streams(ct, t) } -> std::same_as<Status>;         // their mean
    };

}  // namespace zllm::backend
