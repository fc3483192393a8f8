#pragma once

#include <concepts>
#include <span>
#include <vector>

#include <zllm/activation/spec.h>
#include <zllm/backend/capability/backend.h>
#include <zllm/moe/spec.h>

namespace zllm::backend {

// The matrices of all experts of a layer; views of one stacked tensor are its slices.
struct ExpertViews {
  std::vector<encoding::WeightView> gate;  // [intermediate, width]
  std::vector<encoding::WeightView> up;    // [intermediate, width]
  std::vector<encoding::WeightView> down;  // [width, intermediate]
};

// Routed experts (moe/routing.h, moe/experts.h). A Routing holds the choice of up to some rows.
// experts() reads only the matrices of chosen experts; a row's result does not depend on others.
template <class B>
concept MoeBackend =
    Backend<B> && requires(B& b, const typename B::Experts& experts, typename B::Routing& routing,
                           const typename B::Routing& crouting, const typename B::Weight *bias,
                           typename B::Tensor& t, const typename B::Tensor& ct,
                           const moe::RouterSpec& spec, const ExpertViews& views, std::uint32_t n) {
      { b.load_experts(views) } -> std::same_as<Result<typename B::Experts>>;
      { b.routing(n, spec) } -> std::same_as<Result<typename B::Routing>>;  // capacity in rows
      { b.route(spec, ct, bias, routing) } -> std::same_as<Status>;         // logits, bias or null
      {
        b.experts(ct, experts, crouting, activation::Spec{}, LinearOutput::replace, t)
      } -> std::same_as<Status>;
      // out += sigmoid(gate) * rows: rows, gates [rows, 1], out.
      { b.add_gated(ct, ct, t) } -> std::same_as<Status>;
    };

}  // namespace zllm::backend
