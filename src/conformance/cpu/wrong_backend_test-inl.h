#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <zllm/backend/cpu/cpu_backend.h>

namespace zllm::conformance::cpu {

using backend::Op;

// The CPU's backend, but one element of one operation's results is wrong, or one position of a
// selection. Weights of routed experts count as the router's results.
class WrongBackend {
  using Cpu = backend::cpu::CpuBackend;

 public:
  using Tensor = Cpu::Tensor;
  using Weight = Cpu::Weight;
  using Completion = Cpu::Completion;
  using PagedCache = Cpu::PagedCache;
  using SlotCache = Cpu::SlotCache;
  using LatentUp = Cpu::LatentUp;
  using Selection = Cpu::Selection;
  using Experts = Cpu::Experts;
  using Routing = Cpu::Routing;
  using Job = Cpu::Job;
  static constexpr std::uint32_t kPageTokens = Cpu::kPageTokens;

  WrongBackend(std::unique_ptr<Cpu> cpu, Op wrong) : cpu_(std::move(cpu)), wrong_(wrong) {}

  std::string_view name() const { return "wrong"; }
  backend::Support supports(const backend::OpKey& key) const { return cpu_->supports(key); }
  std::optional<std::uint64_t> available_bytes() const { return cpu_->available_bytes(); }
  Result<Tensor> tensor(std::uint32_t rows, std::uint32_t columns) {
    return cpu_->tensor(rows, columns);
  }
  Status write(std::span<const float> values, Tensor& tensor) {
    return cpu_->write(values, tensor);
  }
  Status read(const Tensor& tensor, std::span<float> values) { return cpu_->read(tensor, values); }
  Completion submit() { return cpu_->submit(); }
  Result<Weight> load_matrix(const encoding::WeightView& view, backend::MatrixUse use) {
    return cpu_->load_matrix(view, use);
  }
  Result<Weight> load_vector(const encoding::WeightView& view) { return cpu_->load_vector(view); }
  std::size_t page_bytes(const backend::PagedCacheSpec& spec) const {
    return cpu_->page_bytes(spec);
  }
  Result<PagedCache> paged_cache(const backend::PagedCacheSpec& spec) {
    return cpu_->paged_cache(spec);
  }
  Status copy_pages(PagedCache& cache, std::span<const kv_cache::PageCopy> copies) {
    return cpu_->copy_pages(cache, copies);
  }
  Status export_page(const PagedCache& cache, PageId page, std::span<std::byte> out) {
    return cpu_->export_page(cache, page, out);
  }
  Status import_page(PagedCache& cache, PageId page, std::span<const std::byte> in) {
    return cpu_->import_page(cache, page, in);
  }
  Result<LatentUp> load_latent_up(const backend::LatentUpViews& views,
                                  const attention::mla::Spec& spec) {
    return cpu_->load_latent_up(views, spec);
  }
  Result<Selection> selection(std::uint32_t rows, std::uint32_t positions) {
    return cpu_->selection(rows, positions);
  }
  Result<Selection> read_selection(const Selection& selection) {
    return cpu_->read_selection(selection);
  }
  Status write_selection(const Selection& from, Selection& to) {
    return cpu_->write_selection(from, to);
  }
  std::size_t slot_bytes(const backend::SlotCacheSpec& spec) const {
    return cpu_->slot_bytes(spec);
  }
  Result<SlotCache> slot_cache(const backend::SlotCacheSpec& spec) {
    return cpu_->slot_cache(spec);
  }
  Status replay(SlotCache& cache, std::optional<SlotId> from, SlotId to, std::uint32_t rows) {
    return cpu_->replay(cache, from, to, rows);
  }
  Status export_slot(const SlotCache& cache, SlotId slot, std::span<std::byte> out) {
    return cpu_->export_slot(cache, slot, out);
  }
  Status import_slot(SlotCache& cache, SlotId slot, std::span<const std::byte> in) {
    return cpu_->import_slot(cache, slot, in);
  }
  Result<Experts> load_experts(const backend::ExpertViews& views) {
    return cpu_->load_experts(views);
  }
  Result<Routing> routing(std::uint32_t rows, const moe::RouterSpec& spec) {
    return cpu_->routing(rows, spec);
  }

  Status embed(const Weight& table, std::span<const TokenId> tokens, Tensor& out) {
    return spoil(Op::embed, cpu_->embed(table, tokens, out), out);
  }
  Status norm(const Tensor& in, const Weight& weight, double epsilon, Tensor& out) {
    return spoil(Op::norm, cpu_->norm(in, weight, epsilon, out), out);
  }
  Status linear(const Tensor& in, std::span<const Job> jobs, backend::LinearOutput output) {
    return spoil(Op::linear, cpu_->linear(in, jobs, output), *jobs.front().out);
  }
  Status layer_norm(const Tensor& in, const Weight& weight, const Weight& bias, double epsilon,
                    Tensor& out) {
    return spoil(Op::layer_norm, cpu_->layer_norm(in, weight, bias, epsilon, out), out);
  }
  Status gated_norm(const norm::Spec& spec, const Tensor& in, const Weight& weight,
                    const Tensor& gate, Tensor& out) {
    return spoil(Op::gated_norm, cpu_->gated_norm(spec, in, weight, gate, out), out);
  }
  Status activate(const activation::Spec& spec, const Tensor& gate, const Tensor& up, Tensor& out) {
    return spoil(Op::gated_activation, cpu_->activate(spec, gate, up, out), out);
  }
  Status select_rows(const Tensor& in, std::span<const std::uint32_t> rows, Tensor& out) {
    return cpu_->select_rows(in, rows, out);
  }
  Status rotate(Tensor& heads, const backend::RotarySpec& spec, const Tensor& cosine,
                const Tensor& sine) {
    return spoil(Op::rotate, cpu_->rotate(heads, spec, cosine, sine), heads);
  }
  Status attend(PagedCache& cache, backend::PlaneId plane, const attention::gqa::Spec& spec,
                std::span<const backend::PagedSegment> segments, const Tensor& queries,
                const Tensor& keys, const Tensor& values, Tensor& out) {
    return spoil(Op::paged_gqa,
                 cpu_->attend(cache, plane, spec, segments, queries, keys, values, out), out);
  }
  Status attend_latent(PagedCache& cache, backend::PlaneId plane, const attention::mla::Spec& spec,
                       std::span<const backend::PagedSegment> segments,
                       const backend::LatentInputs<Tensor>& inputs, const LatentUp& up,
                       Tensor& out) {
    const Status status = cpu_->attend_latent(cache, plane, spec, segments, inputs, up, out);
    return spoil(wrong_ == Op::latent_up ? Op::latent_up : Op::latent_attention, status, out);
  }
  Status attend_selected(PagedCache& cache, backend::PlaneId plane,
                         const attention::mla::Spec& spec,
                         std::span<const backend::PagedSegment> segments,
                         const Selection& selection, const backend::LatentInputs<Tensor>& inputs,
                         const LatentUp& up, Tensor& out) {
    return spoil(Op::latent_attention,
                 cpu_->attend_selected(cache, plane, spec, segments, selection, inputs, up, out),
                 out);
  }
  Status select_keys(PagedCache& cache, backend::PlaneId plane,
                     const attention::sparse::IndexerSpec& spec,
                     std::span<const backend::PagedSegment> segments,
                     const backend::IndexInputs<Tensor>& inputs, Selection& out) {
    return spoil(Op::select_keys, cpu_->select_keys(cache, plane, spec, segments, inputs, out),
                 out);
  }
  Status select_pools(const backend::PoolStore<PagedCache, SlotCache>& store,
                      const attention::sparse::KpoolSpec& spec,
                      std::span<const backend::PagedSegment> segments,
                      std::span<const backend::SlotSegment> slot_segments,
                      const backend::IndexInputs<Tensor>& inputs, const Weight& position_bias,
                      Selection& out) {
    return spoil(
        Op::select_pools,
        cpu_->select_pools(store, spec, segments, slot_segments, inputs, position_bias, out), out);
  }
  Status delta_rule(SlotCache& slots, backend::SlotPlaneId plane,
                    const attention::delta_rule::Spec& spec,
                    std::span<const backend::SlotSegment> segments,
                    const backend::DeltaRuleInputs<Tensor>& inputs,
                    const backend::DeltaRuleWeights<Weight>& weights, Tensor& out) {
    return spoil(Op::delta_rule,
                 cpu_->delta_rule(slots, plane, spec, segments, inputs, weights, out), out);
  }
  Status split_streams(const residual::HyperConnectionSpec& spec,
                       const backend::HyperConnectionWeights<Weight>& weights,
                       const Tensor& streams, Tensor& input, Tensor& mixing) {
    return cpu_->split_streams(spec, weights, streams, input, mixing);
  }
  Status merge_streams(const residual::HyperConnectionSpec& spec, const Tensor& sublayer,
                       const Tensor& mixing, Tensor& streams) {
    return spoil(Op::hyper_connection, cpu_->merge_streams(spec, sublayer, mixing, streams),
                 streams);
  }
  Status expand_streams(const Tensor& rows, Tensor& streams) {
    return cpu_->expand_streams(rows, streams);
  }
  Status collapse_streams(const Tensor& streams, Tensor& rows) {
    return cpu_->collapse_streams(streams, rows);
  }
  Status route(const moe::RouterSpec& spec, const Tensor& logits, const Weight *bias,
               Routing& routing) {
    const Status status = cpu_->route(spec, logits, bias, routing);
    if (status.ok() && wrong_ == Op::route) {
      routing.weights.back() *= 1.01F;
    }
    return status;
  }
  Status experts(const Tensor& in, const Experts& experts, const Routing& routing,
                 const activation::Spec& act, backend::LinearOutput output, Tensor& out) {
    return spoil(Op::experts, cpu_->experts(in, experts, routing, act, output, out), out);
  }
  Status add_gated(const Tensor& rows, const Tensor& gates, Tensor& out) {
    return cpu_->add_gated(rows, gates, out);
  }

 private:
  // The last element is off by more than any bound allows, and not zero.
  Status spoil(Op op, const Status& status, Tensor& out) const {
    if (status.ok() && op == wrong_) {
      out.data()[out.size() - 1] += 3.0F;
    }
    return status;
  }
  // Rows that leave a position out take it in place of the next one that they keep.
  Status spoil(Op op, const Status& status, Selection& out) const {
    if (!status.ok() || op != wrong_) {
      return status;
    }
    Selection spoiled;
    for (std::size_t i = 0; i < out.rows(); ++i) {
      std::vector<std::uint32_t> row(out.row(i).begin(), out.row(i).end());
      std::uint32_t missing = 0;
      while (missing < row.size() && row[missing] == missing) {
        ++missing;
      }
      if (missing < row.size()) {
        row.erase(row.begin() + missing);
        row.insert(row.begin() + missing, missing);
      }
      spoiled.append_row(row);
    }
    out = spoiled;
    return status;
  }

  std::unique_ptr<Cpu> cpu_;
  Op wrong_;
};
static_assert(backend::GqaBackend<WrongBackend> && backend::KpoolBackend<WrongBackend> &&
              backend::DeltaRuleBackend<WrongBackend> &&
              backend::HyperConnectionBackend<WrongBackend> && backend::MoeBackend<WrongBackend>);

}  // namespace zllm::conformance::cpu
