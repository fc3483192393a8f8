#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <zllm/backend/capability/delta_rule.h>
#include <zllm/backend/capability/dsa.h>
#include <zllm/backend/capability/gqa.h>
#include <zllm/backend/capability/hyper_connection.h>
#include <zllm/backend/capability/mla.h>
#include <zllm/backend/capability/moe.h>

// The smallest types that satisfy each concept: move-only, nothing extra. A runtime that uses more
// than its concept grants does not compile with them (test/architecture). Never run.
namespace zllm::backend::archetype {

class MoveOnly {
 public:
  MoveOnly(MoveOnly&&) = default;
  MoveOnly& operator=(MoveOnly&&) = default;
  MoveOnly(const MoveOnly&) = delete;
  MoveOnly& operator=(const MoveOnly&) = delete;
  ~MoveOnly() = default;

 private:
  MoveOnly() = default;
};

class Tensor : public MoveOnly {
 public:
  void set_rows(std::uint32_t rows);
};

class Weight : public MoveOnly {};

class Completion : public MoveOnly {
 public:
  Status wait();
};

class PagedCache : public MoveOnly {};
class SlotCache : public MoveOnly {};
class LatentUp : public MoveOnly {};
class Selection : public MoveOnly {};
class Experts : public MoveOnly {};
class Routing : public MoveOnly {};

class DenseBackend {
 public:
  using Tensor = archetype::Tensor;
  using Weight = archetype::Weight;
  using Completion = archetype::Completion;
  using Job = LinearJob<Tensor, Weight>;

  DenseBackend(const DenseBackend&) = delete;
  DenseBackend& operator=(const DenseBackend&) = delete;

  std::string_view name() const;
  Support supports(const OpKey& key) const;
  std::optional<std::uint64_t> available_bytes() const;
  Result<Tensor> tensor(std::uint32_t rows, std::uint32_t columns);
  Status write(std::span<const float> values, Tensor& tensor);
  Status read(const Tensor& tensor, std::span<float> values);
  Completion submit();

  Result<Weight> load_matrix(const encoding::WeightView& view, MatrixUse use);
  Result<Weight> load_vector(const encoding::WeightView& view);
  Status embed(const Weight& table, std::span<const TokenId> tokens, Tensor& out);
  Status norm(const Tensor& in, const Weight& weight, double epsilon, Tensor& out);
  Status linear(const Tensor& in, std::span<const Job> jobs, LinearOutput output);
  Status activate(const activation::Spec& spec, const Tensor& gate, const Tensor& up, Tensor& out);
  Status select_rows(const Tensor& in, std::span<const std::uint32_t> rows, Tensor& out);
};
static_assert(Backend<DenseBackend>);

// What a capability adds to another archetype.
template <class Base>
class WithPages : public Base {
 public:
  using PagedCache = archetype::PagedCache;
  static constexpr std::uint32_t kPageTokens = 16;

  std::size_t page_bytes(const PagedCacheSpec& spec) const;
  Result<PagedCache> paged_cache(const PagedCacheSpec& spec);
  Status copy_pages(PagedCache& cache, std::span<const kv_cache::PageCopy> copies);
  Status export_page(const PagedCache& cache, PageId page, std::span<std::byte> out);
  Status import_page(PagedCache& cache, PageId page, std::span<const std::byte> in);
};

template <class Base>
class WithRotation : public Base {
 public:
  Status rotate(Tensor& heads, const RotarySpec& spec, const Tensor& cosine, const Tensor& sine);
};

template <class Base>
class WithGqa : public Base {
 public:
  Status attend(PagedCache& cache, PlaneId plane, const attention::gqa::Spec& spec,
                std::span<const PagedSegment> segments, const Tensor& queries, const Tensor& keys,
                const Tensor& values, Tensor& out);
};

template <class Base>
class WithMla : public Base {
 public:
  using LatentUp = archetype::LatentUp;

  Result<LatentUp> load_latent_up(const LatentUpViews& views, const attention::mla::Spec& spec);
  Status attend_latent(PagedCache& cache, PlaneId plane, const attention::mla::Spec& spec,
                       std::span<const PagedSegment> segments, const LatentInputs<Tensor>& inputs,
                       const LatentUp& up, Tensor& out);
};

template <class Base>
class WithDsa : public Base {
 public:
  using Selection = archetype::Selection;

  Status layer_norm(const Tensor& in, const Weight& weight, const Weight& bias, double epsilon,
                    Tensor& out);
  Result<Selection> selection(std::uint32_t rows, std::uint32_t positions);
  Result<attention::sparse::Selection> read_selection(const Selection& selection);
  Status write_selection(const attention::sparse::Selection& from, Selection& to);
  Status select_keys(PagedCache& cache, PlaneId plane, const attention::sparse::IndexerSpec& spec,
                     std::span<const PagedSegment> segments, const IndexInputs<Tensor>& inputs,
                     Selection& out);
  Status attend_selected(PagedCache& cache, PlaneId plane, const attention::mla::Spec& spec,
                         std::span<const PagedSegment> segments, const Selection& selection,
                         const LatentInputs<Tensor>& inputs, const LatentUp& up, Tensor& out);
};

template <class Base>
class WithSlots : public Base {
 public:
  using SlotCache = archetype::SlotCache;

  std::size_t slot_bytes(const SlotCacheSpec& spec) const;
  Result<SlotCache> slot_cache(const SlotCacheSpec& spec);
  Status replay(SlotCache& cache, std::optional<SlotId> from, SlotId to, std::uint32_t rows);
  Status export_slot(const SlotCache& cache, SlotId slot, std::span<std::byte> out);
  Status import_slot(SlotCache& cache, SlotId slot, std::span<const std::byte> in);
};

template <class Base>
class WithKpool : public Base {
 public:
  Status select_pools(const PoolStore<PagedCache, SlotCache>& store,
                      const attention::sparse::KpoolSpec& spec,
                      std::span<const PagedSegment> segments,
                      std::span<const SlotSegment> slot_segments, const IndexInputs<Tensor>& inputs,
                      const Weight& position_bias, archetype::Selection& out);
};

template <class Base>
class WithDeltaRule : public Base {
 public:
  Status delta_rule(SlotCache& slots, SlotPlaneId plane, const attention::delta_rule::Spec& spec,
                    std::span<const SlotSegment> segments, const DeltaRuleInputs<Tensor>& inputs,
                    const DeltaRuleWeights<Weight>& weights, Tensor& out);
  Status gated_norm(const norm::Spec& spec, const Tensor& in, const Weight& weight,
                    const Tensor& gate, Tensor& out);
};

template <class Base>
class WithHyperConnections : public Base {
 public:
  Status split_streams(const residual::HyperConnectionSpec& spec,
                       const HyperConnectionWeights<Weight>& weights, const Tensor& streams,
                       Tensor& input, Tensor& mixing);
  Status merge_streams(const residual::HyperConnectionSpec& spec, const Tensor& sublayer,
                       const Tensor& mixing, Tensor& streams);
  Status expand_streams(const Tensor& rows, Tensor& streams);
  Status collapse_streams(const Tensor& streams, Tensor& rows);
};

template <class Base>
class WithMoe : public Base {
 public:
  using Experts = archetype::Experts;
  using Routing = archetype::Routing;

  Result<Experts> load_experts(const ExpertViews& views);
  Result<Routing> routing(std::uint32_t rows, const moe::RouterSpec& spec);
  Status route(const moe::RouterSpec& spec, const Tensor& logits, const Weight *bias,
               Routing& routing);
  Status experts(const Tensor& in, const Experts& experts, const Routing& routing,
                 const activation::Spec& act, LinearOutput output, Tensor& out);
  Status add_gated(const Tensor& rows, const Tensor& gates, Tensor& out);
};

using PagedGqaBackend = WithGqa<WithRotation<WithPages<DenseBackend>>>;
static_assert(GqaBackend<PagedGqaBackend>);
using GqaMoeBackend = WithMoe<PagedGqaBackend>;
static_assert(MoeBackend<GqaMoeBackend>);
using SparseMlaBackend = WithMoe<WithDsa<WithMla<WithRotation<WithPages<DenseBackend>>>>>;
static_assert(DsaBackend<SparseMlaBackend> && RotaryBackend<SparseMlaBackend>);
using DeltaMlaBackend = WithMoe<WithDeltaRule<WithSlots<WithMla<WithPages<DenseBackend>>>>>;
static_assert(DeltaRuleBackend<DeltaMlaBackend> && MlaBackend<DeltaMlaBackend>);
using DeltaKpoolBackend = WithHyperConnections<
    WithMoe<WithDeltaRule<WithKpool<WithSlots<WithDsa<WithMla<WithPages<DenseBackend>>>>>>>>;
static_assert(KpoolBackend<DeltaKpoolBackend> && HyperConnectionBackend<DeltaKpoolBackend>);

}  // namespace zllm::backend::archetype
