#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <zllm/backend/capability/delta_rule.h>
#include <zllm/backend/capability/dsa.h>
#include <zllm/backend/capability/gqa.h>
#include <zllm/backend/capability/hyper_connection.h>
#include <zllm/backend/capability/moe.h>
#include <zllm/backend/cpu/experts.h>
#include <zllm/backend/cpu/latent_up.h>
#include <zllm/backend/cpu/paged_cache.h>
#include <zllm/backend/cpu/slot_cache.h>
#include <zllm/backend/cpu/tensor.h>
#include <zllm/backend/cpu/weight.h>
#include <zllm/kernel/cpu/isa.h>
#include <zllm/moe/routing.h>

namespace zllm::backend::cpu {

struct CpuOptions {
  unsigned threads = 0;  // 0 = as many as the process may use
  kernel::cpu::Isa isa_cap = kernel::cpu::Isa::avx512;
};

// Everything is done when a call returns.
class Completion {
 public:
  Status wait() { return {}; }
};

// Models on the processor. Batch-invariant: the bits of a row depend neither on other rows of a
// round, nor on how a prompt was cut into rounds, nor on the number of threads. One caller at a
// time; it is one of the threads.
class CpuBackend {
 public:
  using Tensor = cpu::Tensor;
  using Weight = cpu::Weight;
  using Completion = cpu::Completion;
  using PagedCache = cpu::PagedCache;
  using SlotCache = cpu::SlotCache;
  using LatentUp = cpu::LatentUp;
  using Selection = attention::sparse::Selection;
  using Experts = cpu::Experts;
  using Routing = moe::Routing;
  using Job = LinearJob<Tensor, Weight>;
  static constexpr std::uint32_t kPageTokens = kernel::cpu::kPageTokens;

  static Result<std::unique_ptr<CpuBackend>> create(const CpuOptions& options);
  ~CpuBackend();
  CpuBackend(const CpuBackend&) = delete;
  CpuBackend& operator=(const CpuBackend&) = delete;

  std::string_view name() const { return "cpu"; }
  kernel::cpu::Isa isa() const;
  unsigned threads() const;
  Support supports(const OpKey& key) const;
  std::optional<std::uint64_t> available_bytes() const;

  Result<Tensor> tensor(std::uint32_t rows, std::uint32_t columns);
  Status write(std::span<const float> values, Tensor& tensor);
  Status read(const Tensor& tensor, std::span<float> values);
  Completion submit() { return {}; }

  Result<Weight> load_matrix(const encoding::WeightView& view, MatrixUse use);
  Result<Weight> load_vector(const encoding::WeightView& view);
  Status embed(const Weight& table, std::span<const TokenId> tokens, Tensor& out);
  Status norm(const Tensor& in, const Weight& weight, double epsilon, Tensor& out);
  Status linear(const Tensor& in, std::span<const Job> jobs, LinearOutput output);
  Status layer_norm(const Tensor& in, const Weight& weight, const Weight& bias, double epsilon,
                    Tensor& out);
  Status gated_norm(const norm::Spec& spec, const Tensor& in, const Weight& weight,
                    const Tensor& gate, Tensor& out);
  Status activate(const activation::Spec& spec, const Tensor& gate, const Tensor& up, Tensor& out);
  Status select_rows(const Tensor& in, std::span<const std::uint32_t> rows, Tensor& out);

  std::size_t page_bytes(const PagedCacheSpec& spec) const { return PagedCache::page_bytes(spec); }
  Result<PagedCache> paged_cache(const PagedCacheSpec& spec);
  Status copy_pages(PagedCache& cache, std::span<const kv_cache::PageCopy> copies);
  Status rotate(Tensor& heads, const RotarySpec& spec, const Tensor& cosine, const Tensor& sine);
  Status attend(PagedCache& cache, PlaneId plane, const attention::gqa::Spec& spec,
                std::span<const PagedSegment> segments, const Tensor& queries, const Tensor& keys,
                const Tensor& values, Tensor& out);
  Status export_page(const PagedCache& cache, PageId page, std::span<std::byte> out);
  Status import_page(PagedCache& cache, PageId page, std::span<const std::byte> in);

  Result<LatentUp> load_latent_up(const LatentUpViews& views, const attention::mla::Spec& spec);
  Status attend_latent(PagedCache& cache, PlaneId plane, const attention::mla::Spec& spec,
                       std::span<const PagedSegment> segments, const LatentInputs<Tensor>& inputs,
                       const LatentUp& up, Tensor& out);
  Status attend_selected(PagedCache& cache, PlaneId plane, const attention::mla::Spec& spec,
                         std::span<const PagedSegment> segments, const Selection& selection,
                         const LatentInputs<Tensor>& inputs, const LatentUp& up, Tensor& out);

  Result<Selection> selection(std::uint32_t rows, std::uint32_t positions);
  Result<attention::sparse::Selection> read_selection(const Selection& selection);
  Status write_selection(const attention::sparse::Selection& from, Selection& to);
  Status select_keys(PagedCache& cache, PlaneId plane, const attention::sparse::IndexerSpec& spec,
                     std::span<const PagedSegment> segments, const IndexInputs<Tensor>& inputs,
                     Selection& out);
  Status select_pools(const PoolStore<PagedCache, SlotCache>& store,
                      const attention::sparse::KpoolSpec& spec,
                      std::span<const PagedSegment> segments,
                      std::span<const SlotSegment> slot_segments, const IndexInputs<Tensor>& inputs,
                      const Weight& position_bias, Selection& out);

  std::size_t slot_bytes(const SlotCacheSpec& spec) const { return SlotCache::slot_bytes(spec); }
  Result<SlotCache> slot_cache(const SlotCacheSpec& spec);
  Status replay(SlotCache& cache, std::optional<SlotId> from, SlotId to, std::uint32_t rows);
  Status export_slot(const SlotCache& cache, SlotId slot, std::span<std::byte> out);
  Status import_slot(SlotCache& cache, SlotId slot, std::span<const std::byte> in);
  Status delta_rule(SlotCache& slots, SlotPlaneId plane, const attention::delta_rule::Spec& spec,
                    std::span<const SlotSegment> segments, const DeltaRuleInputs<Tensor>& inputs,
                    const DeltaRuleWeights<Weight>& weights, Tensor& out);

  Status split_streams(const residual::HyperConnectionSpec& spec,
                       const HyperConnectionWeights<Weight>& weights, const Tensor& streams,
                       Tensor& input, Tensor& mixing);
  Status merge_streams(const residual::HyperConnectionSpec& spec, const Tensor& sublayer,
                       const Tensor& mixing, Tensor& streams);
  Status expand_streams(const Tensor& rows, Tensor& streams);
  Status collapse_streams(const Tensor& streams, Tensor& rows);

  Result<Experts> load_experts(const ExpertViews& views);
  Result<Routing> routing(std::uint32_t rows, const moe::RouterSpec& spec);
  Status route(const moe::RouterSpec& spec, const Tensor& logits, const Weight *bias,
               Routing& routing);
  Status experts(const Tensor& in, const Experts& experts, const Routing& routing,
                 const activation::Spec& act, LinearOutput output, Tensor& out);
  Status add_gated(const Tensor& rows, const Tensor& gates, Tensor& out);

 private:
  struct State;  // threads, kernels of the instruction set, scratch memory
  explicit CpuBackend(std::unique_ptr<State> state);

  // Calls rows(begin, end) for ranges that make up the tensor's rows, on several threads when that
  // pays.
  template <class Rows>
  void for_rows(const Tensor& tensor, Rows rows);
  // The rows' int8 form, into the state's activations.
  Status quantize(const Tensor& in);
  // Of all streams, into the state's mixing_logits.
  Status mixing_logits(const Weight& mixing, const Tensor& streams);
  // Packs what can be packed, of all matrices at once.
  Result<MatrixStack> load_stack(std::span<const encoding::WeightView> views);

  std::unique_ptr<State> state_;
};
static_assert(GqaBackend<CpuBackend> && KpoolBackend<CpuBackend> && DeltaRuleBackend<CpuBackend> &&
              HyperConnectionBackend<CpuBackend> && MoeBackend<CpuBackend>);

}  // namespace zllm::backend::cpu
