#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include <zllm/attention/sparse/selection.h>
#include <zllm/attention/sparse/spec.h>
#include <zllm/backend/capability/mla.h>
#include <zllm/backend/capability/slots.h>

namespace zllm::backend {

// What an indexer reads of a round's rows.
template <class Tensor>
struct IndexInputs {
  const Tensor *queries = nullptr;  // [rows, heads * width], turned
  const Tensor *keys = nullptr;     // [rows, width], normalised, turned
  const Tensor *weights = nullptr;  // [rows, heads]
  const Tensor *gates = nullptr;    // [rows, width]; pooled keys alone
};

// Sparse attention over selected positions (attention/sparse). A Selection lives on the backend,
// with capacity for some rows of some positions; read and write carry it to other stages.
template <class B>
concept DsaBackend =
    MlaBackend<B> && requires(B& b, typename B::PagedCache& cache, const typename B::LatentUp& up,
                              typename B::Selection& s, const typename B::Selection& cs,
                              typename B::Tensor& t, const typename B::Tensor& ct,
                              const typename B::Weight& w, std::span<const PagedSegment> segments,
                              std::uint32_t n, const attention::sparse::Selection& host) {
      // LayerNorm with weight and bias.
      { b.layer_norm(ct, w, w, 1e-6, t) } -> std::same_as<Status>;
      { b.selection(n, n) } -> std::same_as<Result<typename B::Selection>>;
      { b.read_selection(cs) } -> std::same_as<Result<attention::sparse::Selection>>;
      { b.write_selection(host, s) } -> std::same_as<Status>;
      // Stores the rows' keys in a plane of index keys, then selects for every row.
      {
        b.select_keys(cache, PlaneId{}, attention::sparse::IndexerSpec{}, segments,
                      IndexInputs<typename B::Tensor>{}, s)
      } -> std::same_as<Status>;
      // attend_latent() over each row's selected positions alone.
      {
        b.attend_selected(cache, PlaneId{}, attention::mla::Spec{}, segments, cs,
                          LatentInputs<typename B::Tensor>{}, up, t)
      } -> std::same_as<Status>;
    };

// Where pooled keys are kept: complete pools in a plane of index keys, the open one in slots.
template <class PagedCache, class SlotCache>
struct PoolStore {
  PagedCache *pages = nullptr;
  PlaneId keys;
  SlotCache *slots = nullptr;
  SlotPlaneId open_pool;
};

// Pooled index keys: select_pools() stores the rows' keys and gates, pools what is complete, then
// selects for every row.
template <class B>
concept KpoolBackend =
    DsaBackend<B> && SlotBackend<B> &&
    requires(B& b, typename B::Selection& s, const typename B::Weight& w,
             std::span<const PagedSegment> segments, std::span<const SlotSegment> slot_segments) {
      // The last weight is the position bias, a vector of pool * width.
      {
        b.select_pools(PoolStore<typename B::PagedCache, typename B::SlotCache>{},
                       attention::sparse::KpoolSpec{}, segments, slot_segments,
                       IndexInputs<typename B::Tensor>{}, w, s)
      } -> std::same_as<Status>;
    };

}  // namespace zllm::backend
