#pragma once

#include <concepts>
#include <span>

#include <zllm/attention/mla/spec.h>
#include <zllm/backend/capability/paged.h>
#include <zllm/encoding/encoding.h>

namespace zllm::backend {

// The matrices A_h and B_h that lift a latent to keys and values (attention/mla/reference.h), in
// one of the two forms that files have. Unused views are empty.
struct LatentUpViews {
  encoding::WeightView fused;  // [heads * (nope + value), latent]: A_h, then B_h, per head
  encoding::WeightView keys_transposed;  // [heads * latent, nope]: the transposed A_h
  encoding::WeightView values;           // [heads * value, latent]
};

// What attend_latent() reads of a round's rows.
template <class Tensor>
struct LatentInputs {
  const Tensor *queries = nullptr;  // [rows, heads * (nope + rope)]; the rope lanes last, turned
  const Tensor *latents = nullptr;  // [rows, latent], normalised
  const Tensor *shared_keys = nullptr;  // [rows, rope], turned; null where rope is 0
};

// Multi-head latent attention over a plane of latents. attend_latent() stores the latents and
// shared keys of all rows in the cache, then writes each row's attention [rows, heads * value] over
// every key that it sees, read back in the cache's rounding.
template <class B>
concept MlaBackend =
    PagedBackend<B> && requires(B& b, typename B::PagedCache& cache, const typename B::LatentUp& up,
                                typename B::Tensor& t, std::span<const PagedSegment> segments) {
      {
        b.load_latent_up(LatentUpViews{}, attention::mla::Spec{})
      } -> std::same_as<Result<typename B::LatentUp>>;
      {
        b.attend_latent(cache, PlaneId{}, attention::mla::Spec{}, segments,
                        LatentInputs<typename B::Tensor>{}, up, t)
      } -> std::same_as<Status>;
    };

}  // namespace zllm::backend
