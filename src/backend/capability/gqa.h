#pragma once

#include <concepts>
#include <span>

#include <zllm/attention/gqa/spec.h>
#include <zllm/backend/capability/paged.h>
#include <zllm/backend/capability/rotary.h>

namespace zllm::backend {

// Grouped-query attention over a plane of keys and values. attend() stores the roped keys and the
// values of all rows in the cache, then writes each row's attention; rows of a page are stored in
// the cache's type and read back from it, so prefill and decode see the same rounding
// (attention/gqa/reference.h).
template <class B>
concept GqaBackend =
    PagedBackend<B> && RotaryBackend<B> &&
    requires(B& b, typename B::PagedCache& cache, typename B::Tensor& t,
             const typename B::Tensor& ct, std::span<const PagedSegment> segments) {
      {
        b.attend(cache, PlaneId{}, attention::gqa::Spec{}, segments, ct, ct, ct, t)
      } -> std::same_as<Status>;  // queries, keys, values, out
    };

}  // namespace zllm::backend
