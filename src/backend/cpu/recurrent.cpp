#include <algorithm>
#include <vector>

#include <zllm/backend/cpu/open_pool.h>
#include <zllm/backend/cpu/state.h>

namespace zllm::backend::cpu {
namespace {

namespace delta = attention::delta_rule;
using kernel::cpu::DeltaRuleParams;
using kernel::cpu::DeltaRuleReplay;
using kernel::cpu::DeltaRuleShape;

// Elements of states that are updated on one thread; below, waking others costs more.
constexpr std::size_t kElementsAlone = 16384;

static_assert(kJournalRows <= kernel::cpu::kDeltaRuleRows, "a journal replays in one call");

DeltaRuleShape shape_of(const delta::Spec& spec) {
  return {.key_heads = spec.key_heads,
          .value_heads = spec.value_heads,
          .key_width = spec.key_width,
          .value_width = spec.value_width,
          .taps = spec.taps,
          .decay_per_channel = spec.decay_width == delta::DecayWidth::channel,
          .gate = spec.decay_gate == delta::DecayGate::softplus ? kernel::cpu::DecayGate::softplus
                                                                : kernel::cpu::DecayGate::bounded,
          .lower_bound = spec.lower_bound,
          .rates_are_logarithms = spec.rates_are_logarithms};
}

// Empty: zeros.
kernel::cpu::DeltaRuleSource source_of(const delta::Spec& spec, std::span<const float> state) {
  if (state.empty()) {
    return {};
  }
  return {.tail = state.data(), .matrices = state.data() + delta::tail_elements(spec)};
}

kernel::cpu::DeltaRuleTarget target_of(const delta::Spec& spec, std::span<float> state) {
  return {.tail = state.data(), .matrices = state.data() + delta::tail_elements(spec)};
}

std::size_t length(const Weight& weight) { return weight.rows() * weight.columns(); }

void check_operands(const delta::Spec& spec, const DeltaRuleInputs<Tensor>& inputs,
                    const DeltaRuleWeights<Weight>& weights, const Tensor& out) {
  const std::uint64_t keys = std::uint64_t{spec.key_heads} * spec.key_width;
  const std::uint64_t values = std::uint64_t{spec.value_heads} * spec.value_width;
  ZLLM_CHECK(inputs.mixed->columns() == delta::channels(spec) &&
                 inputs.decay->columns() == delta::decays(spec) &&
                 inputs.beta->columns() == spec.value_heads && out.columns() == values,
             "columns of delta_rule");
  ZLLM_CHECK(inputs.decay->rows() == inputs.mixed->rows() &&
                 inputs.beta->rows() == inputs.mixed->rows() && out.rows() == inputs.mixed->rows(),
             "rows of delta_rule");
  ZLLM_CHECK(length(*weights.query_taps) == keys * spec.taps &&
                 length(*weights.key_taps) == keys * spec.taps &&
                 length(*weights.value_taps) == values * spec.taps &&
                 length(*weights.rates) == spec.value_heads &&
                 length(*weights.decay_bias) == delta::decays(spec),
             "weights of delta_rule");
}

// All of one segment but what the slots hold.
DeltaRuleParams delta_rule_params(const delta::Spec& spec, const SlotSegment& segment,
                                  const DeltaRuleInputs<Tensor>& inputs,
                                  const DeltaRuleWeights<Weight>& weights, Tensor& out) {
  ZLLM_CHECK(std::uint64_t{segment.first_row} + segment.rows <= out.rows(),
             "a segment outside the round");
  return {.shape = shape_of(spec),
          .rows = segment.rows,
          .mixed = inputs.mixed->row(segment.first_row),
          .decay = inputs.decay->row(segment.first_row),
          .beta = inputs.beta->row(segment.first_row),
          .output = out.row(segment.first_row),
          .mixed_stride = inputs.mixed->columns(),
          .decay_stride = inputs.decay->columns(),
          .beta_stride = inputs.beta->columns(),
          .output_stride = out.columns(),
          .query_taps = weights.query_taps->values(),
          .key_taps = weights.key_taps->values(),
          .value_taps = weights.value_taps->values(),
          .rates = weights.rates->values(),
          .decay_bias = weights.decay_bias->values(),
          .from = {},
          .to = {}};
}

// Calls task(index, worker) for every index below `count`, on several threads when `elements` of
// states are worth that.
template <class Task>
void run_tasks(ThreadPool& threads, std::size_t count, std::size_t elements, Task task) {
  if (elements <= kElementsAlone) {
    for (std::size_t i = 0; i < count; ++i) {
      task(i, std::size_t{0});
    }
    return;
  }
  threads.parallel_for(count, 1, [&](std::uint64_t begin, std::uint64_t end, std::size_t worker) {
    for (std::uint64_t i = begin; i < end; ++i) {
      task(i, worker);
    }
  });
}

}  // namespace

Result<SlotCache> CpuBackend::slot_cache(const SlotCacheSpec& spec) {
  return SlotCache::make(spec);
}

Status CpuBackend::delta_rule(SlotCache& slots, SlotPlaneId plane, const delta::Spec& spec,
                              std::span<const SlotSegment> segments,
                              const DeltaRuleInputs<Tensor>& inputs,
                              const DeltaRuleWeights<Weight>& weights, Tensor& out) {
  ZLLM_CHECK(plane.value() < slots.spec().planes.size() &&
                 slots.spec().planes[plane.value()] == SlotPlaneSpec{spec},
             "the plane of delta_rule");
  check_operands(spec, inputs, weights, out);
  const SlotCache& readable = slots;
  std::vector<DeltaRuleParams> works;
  std::size_t rows = 0;
  for (const SlotSegment& segment : segments) {
    ZLLM_CHECK(segment.rows > 0 && segment.from != segment.to, "a segment's rows and slots");
    DeltaRuleParams& work =
        works.emplace_back(delta_rule_params(spec, segment, inputs, weights, out));
    work.from = source_of(spec, readable.state(segment.from, plane));
    work.to = target_of(spec, slots.state(segment.to, plane));
    if (segment.journal) {
      ZLLM_CHECK(segment.rows <= kJournalRows, "a journal of too many rows");
      work.journal = slots.journal(segment.to, plane).data();
    }
    rows += segment.rows;
  }
  const std::size_t scratch = kernel::cpu::delta_rule_scratch(shape_of(spec));
  ZLLM_TRY(state_->recurrent_scratch.grow(scratch * state_->threads.threads()));
  run_tasks(state_->threads, works.size() * spec.value_heads, rows * delta::state_elements(spec),
            [&](std::size_t index, std::size_t worker) {
              state_->delta_rule->delta_rule(works[index / spec.value_heads],
                                             index % spec.value_heads,
                                             state_->recurrent_scratch.data() + scratch * worker);
            });
  return {};
}

Status CpuBackend::replay(SlotCache& cache, std::optional<SlotId> from, SlotId to,
                          std::uint32_t rows) {
  ZLLM_CHECK(from != to && rows <= kJournalRows, "slots and rows of replay");
  const SlotCache& readable = cache;
  const std::vector<SlotPlaneSpec>& planes = cache.spec().planes;
  std::vector<DeltaRuleReplay> works;
  std::vector<std::size_t> first_tasks;  // one for each head of each plane
  std::size_t tasks = 0;
  std::size_t elements = 0;
  std::size_t scratch = 0;  // floats of one thread
  for (std::uint32_t i = 0; i < planes.size(); ++i) {
    const SlotPlaneId plane{i};
    if (const auto *pool = std::get_if<OpenPoolSpec>(&planes[i])) {
      const std::size_t stride = 2 * std::size_t{pool->width};
      const float *const journal = cache.journal(to, plane).data();
      advance_open_pool(*pool, readable.state(from, plane),
                        {.keys = journal,
                         .gates = journal + pool->width,
                         .key_stride = stride,
                         .gate_stride = stride,
                         .count = rows},
                        cache.state(to, plane));
      continue;
    }
    const auto& spec = std::get<delta::Spec>(planes[i]);
    works.push_back({.shape = shape_of(spec),
                     .rows = rows,
                     .journal = cache.journal(to, plane).data(),
                     .from = source_of(spec, readable.state(from, plane)),
                     .to = target_of(spec, cache.state(to, plane))});
    first_tasks.push_back(tasks);
    tasks += spec.value_heads;
    elements += delta::state_elements(spec);
    scratch = std::max(scratch, kernel::cpu::delta_rule_scratch(shape_of(spec)));
  }
  ZLLM_TRY(state_->recurrent_scratch.grow(scratch * state_->threads.threads()));
  run_tasks(state_->threads, tasks, elements, [&](std::size_t index, std::size_t worker) {
    const auto work = std::ranges::upper_bound(first_tasks, index) - first_tasks.begin() - 1;
    const auto place = static_cast<std::size_t>(work);
    state_->delta_rule->replay(works[place], index - first_tasks[place],
                               state_->recurrent_scratch.data() + scratch * worker);
  });
  return {};
}

Status CpuBackend::export_slot(const SlotCache& cache, SlotId slot, std::span<std::byte> out) {
  const std::span<const std::byte> bytes = std::as_bytes(cache.states(slot));
  ZLLM_CHECK(out.size() == bytes.size(), "export of another size");
  std::ranges::copy(bytes, out.begin());
  return {};
}

Status CpuBackend::import_slot(SlotCache& cache, SlotId slot, std::span<const std::byte> in) {
  const std::span<std::byte> bytes = std::as_writable_bytes(cache.states(slot));
  ZLLM_CHECK(in.size() == bytes.size(), "import of another size");
  std::ranges::copy(in, bytes.begin());
  return {};
}

}  // namespace zllm::backend::cpu
