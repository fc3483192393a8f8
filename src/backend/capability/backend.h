#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <zllm/activation/spec.h>
#include <zllm/backend/capability/op_key.h>
#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/encoding/encoding.h>

// What a backend must provide. Tensor: f32 activations of some rows x columns, rows set per round
// within the capacity it was made with. Weight: a resident matrix or vector in whatever form the
// backend keeps it. Operations are ordered as called; an asynchronous backend may only enqueue
// them. A Status is an error of the call (no memory, device lost), never of the values.
namespace zllm::backend {

// How a matrix will be used; a backend keeps one copy that serves every use.
struct MatrixUse {
  bool as_table = false;    // rows are looked up by token
  bool as_product = false;  // multiplied with activations
};

// One product of linear(): out = input * weight^T + bias, into the columns of out from
// first_column on; other columns stay.
template <class Tensor, class Weight>
struct LinearJob {
  const Weight *weight = nullptr;
  const Weight *bias = nullptr;  // a vector, or null
  Tensor *out = nullptr;
  std::uint32_t first_column = 0;
};

enum class LinearOutput { replace, accumulate };

// Memory and submission.
template <class B>
concept ResourceBackend = requires(
    B& b, const B& cb, typename B::Tensor& t, const typename B::Tensor& ct,
    typename B::Completion& c, std::uint32_t n, std::span<const float> in, std::span<float> out) {
  { cb.name() } -> std::same_as<std::string_view>;
  { cb.supports(OpKey{}) } -> std::same_as<Support>;
  { cb.available_bytes() } -> std::same_as<std::optional<std::uint64_t>>;  // nothing = not known
  { b.tensor(n, n) } -> std::same_as<Result<typename B::Tensor>>;  // capacity in rows, columns
  { t.set_rows(n) } -> std::same_as<void>;                         // at most the capacity
  { b.write(in, t) } -> std::same_as<Status>;   // rows * columns values from the host
  { b.read(ct, out) } -> std::same_as<Status>;  // waits for the values
  { b.submit() } -> std::same_as<typename B::Completion>;
  { c.wait() } -> std::same_as<Status>;
};

// Residency and dense mathematics. norm's out may be its input; its weight is a vector whose length
// divides the columns, and every such group of elements is normalised by itself (norm/reference.h).
template <class B>
concept Backend =
    ResourceBackend<B> &&
    requires(B& b, typename B::Tensor& t, const typename B::Tensor& ct, const typename B::Weight& w,
             const encoding::WeightView& view, std::span<const TokenId> tokens,
             std::span<const std::uint32_t> rows,
             std::span<const LinearJob<typename B::Tensor, typename B::Weight>> jobs) {
      { b.load_matrix(view, MatrixUse{}) } -> std::same_as<Result<typename B::Weight>>;
      { b.load_vector(view) } -> std::same_as<Result<typename B::Weight>>;
      { b.embed(w, tokens, t) } -> std::same_as<Status>;
      { b.norm(ct, w, 1e-5, t) } -> std::same_as<Status>;
      { b.linear(ct, jobs, LinearOutput::replace) } -> std::same_as<Status>;
      { b.activate(activation::Spec{}, ct, ct, t) } -> std::same_as<Status>;  // gate, up, out
      { b.select_rows(ct, rows, t) } -> std::same_as<Status>;
    };

}  // namespace zllm::backend
