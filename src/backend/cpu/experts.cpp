#include <algorithm>
#include <vector>

#include <zllm/backend/cpu/expert_tasks.h>
#include <zllm/backend/cpu/gate.h>
#include <zllm/backend/cpu/product.h>
#include <zllm/backend/cpu/state.h>
#include <zllm/moe/experts.h>

namespace zllm::backend::cpu {
namespace {

using kernel::cpu::kActivationBlock;

// Gate and up products that a task holds before they are joined: they stay in the second-level
// cache beside the activations.
constexpr std::size_t kJoinedProducts = std::size_t{96} * 1024;
// Floats of the experts' results between their products and a row's sum; the width is done in parts
// when it takes more, so that neither memory nor cache is flooded.
constexpr std::size_t kResultFloats = std::size_t{4} << 20;
// Columns of one piece of a row's sum, and how many values are summed without waking others.
constexpr std::size_t kSumColumns = 1024;
constexpr std::size_t kSumAlone = 65536;

// What the loops of one call share.
struct Work {
  const kernel::cpu::LinearKernels& linear;
  const kernel::cpu::ElementwiseKernels& elementwise;
  ThreadPool& threads;
  ExpertScratch& scratch;
  Buffer<float>& decoded_rows;
  const Experts& experts;
  const moe::Routing& routing;
  moe::ExpertRows groups;
  std::size_t width = 0;
  std::size_t intermediate = 0;
  std::size_t decoded_floats = 0;  // of one thread
  bool has_packed_inputs = false;
  bool has_other_inputs = false;
  bool has_packed_downs = false;
  bool has_other_downs = false;

  std::size_t places() const { return groups.slots.size(); }
  std::size_t count(std::size_t expert) const {
    return groups.begins[expert + 1] - groups.begins[expert];
  }
  std::size_t row_of(std::size_t place) const { return groups.slots[place] / routing.top_k; }
  // Whether an expert's rows lie together in the input, so that they need not be gathered.
  bool is_run(std::size_t expert) const {
    const std::size_t first = groups.begins[expert];
    return row_of(first + count(expert) - 1) - row_of(first) + 1 == count(expert);
  }
  float *decoded(std::size_t worker) const { return decoded_rows.data() + decoded_floats * worker; }
};

// What forms the chosen experts' matrices have.
void survey(Work& work) {
  for (std::size_t expert = 0; expert < work.experts.gate.matrices.size(); ++expert) {
    if (work.count(expert) == 0) {
      continue;
    }
    const MatrixView& gate = work.experts.gate.matrices[expert];
    const MatrixView& up = work.experts.up.matrices[expert];
    const MatrixView& down = work.experts.down.matrices[expert];
    work.has_packed_inputs |= gate.is_packed || up.is_packed;
    work.has_other_inputs |= !gate.is_packed || !up.is_packed;
    work.has_packed_downs |= down.is_packed;
    work.has_other_downs |= !down.is_packed;
    work.decoded_floats = std::max(
        {work.decoded_floats, product_scratch(gate), product_scratch(up), product_scratch(down)});
  }
}

Status reserve(const Work& work, std::size_t joined_floats, std::size_t result_columns) {
  ExpertScratch& scratch = work.scratch;
  const std::size_t threads = work.threads.threads();
  const std::size_t hidden = work.places() * work.intermediate;
  ZLLM_TRY(work.decoded_rows.grow(work.decoded_floats * threads));
  ZLLM_TRY(scratch.joined.grow(joined_floats * threads));
  ZLLM_TRY(scratch.results.grow(work.places() * result_columns));
  if (work.has_packed_downs) {
    ZLLM_TRY(scratch.hidden_blocks.grow(hidden / kActivationBlock));
  }
  if (work.has_other_downs) {
    ZLLM_TRY(scratch.hidden_values.grow(hidden));
  }
  return {};
}

// Puts the rows of each expert together, where they are not so in the input already.
Status gather(const Work& work, const Activations& inputs) {
  bool is_needed = false;
  for (std::size_t expert = 0; expert + 1 < work.groups.begins.size(); ++expert) {
    is_needed |= work.count(expert) > 1 && !work.is_run(expert);
  }
  if (!is_needed) {
    return {};
  }
  const std::size_t blocks = work.width / kActivationBlock;
  if (inputs.blocks != nullptr) {
    ZLLM_TRY(work.scratch.gathered_blocks.grow(work.places() * blocks));
  }
  if (inputs.values != nullptr) {
    ZLLM_TRY(work.scratch.gathered_values.grow(work.places() * work.width));
  }
  const std::uint64_t grain =
      std::max<std::uint64_t>(1, work.places() / (work.threads.threads() * kTurnsAThread));
  work.threads.parallel_for(work.places(), grain, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t place = begin; place < end; ++place) {
      if (work.is_run(work.routing.experts[work.groups.slots[place]])) {
        continue;
      }
      const std::size_t row = work.row_of(place);
      if (inputs.blocks != nullptr) {
        std::copy_n(inputs.blocks + row * blocks, blocks,
                    work.scratch.gathered_blocks.data() + place * blocks);
      }
      if (inputs.values != nullptr) {
        std::copy_n(inputs.values + row * work.width, work.width,
                    work.scratch.gathered_values.data() + place * work.width);
      }
    }
  });
  return {};
}

Activations inputs_of(const Work& work, const Activations& inputs, std::size_t expert) {
  const std::size_t first = work.groups.begins[expert];
  if (work.is_run(expert)) {
    return inputs.part(work.row_of(first), work.count(expert), work.width);
  }
  const Activations gathered{
      .blocks = inputs.blocks == nullptr ? nullptr : work.scratch.gathered_blocks.data(),
      .values = inputs.values == nullptr ? nullptr : work.scratch.gathered_values.data(),
      .rows = work.places()};
  return gathered.part(first, work.count(expert), work.width);
}

// Gate, up and their activation for some intermediate columns of an expert, in the form that its
// down matrix reads.
void join(const Work& work, const ExpertTask& task, const Activations& inputs,
          const activation::Spec& act, float *joined, std::size_t worker) {
  const MatrixView gate = work.experts.gate.matrices[task.expert].slice(task.first, task.end);
  const MatrixView up = work.experts.up.matrices[task.expert].slice(task.first, task.end);
  const std::size_t columns = gate.rows;
  const std::size_t place = work.groups.begins[task.expert];
  const bool is_packed = work.experts.down.matrices[task.expert].is_packed;
  float *const right = joined + inputs.rows * columns;
  multiply(work.linear, gate, inputs, {.values = joined, .stride = columns}, work.decoded(worker));
  multiply(work.linear, up, inputs, {.values = right, .stride = columns}, work.decoded(worker));
  float *const output =
      is_packed ? joined
                : work.scratch.hidden_values.data() + place * work.intermediate + task.first;
  pass_gate(work.elementwise, act,
            {.left = joined,
             .right = right,
             .output = output,
             .left_row_stride = columns,
             .right_row_stride = columns,
             .output_row_stride = is_packed ? columns : work.intermediate,
             .rows = inputs.rows,
             .columns = columns});
  if (!is_packed) {
    return;
  }
  for (std::size_t row = 0; row < inputs.rows; ++row) {
    const std::size_t first = (place + row) * work.intermediate + task.first;
    work.linear.quantize_row(
        {.input = joined + row * columns,
         .columns = columns,
         .blocks = work.scratch.hidden_blocks.data() + first / kActivationBlock});
  }
}

// Columns [first, first + columns) of the experts' results for every place.
void lower(const Work& work, std::size_t first, std::size_t columns) {
  const Activations hidden{
      .blocks = work.has_packed_downs ? work.scratch.hidden_blocks.data() : nullptr,
      .values = work.has_other_downs ? work.scratch.hidden_values.data() : nullptr,
      .rows = work.places()};
  const auto tasks = cut_experts(
      work.groups,
      {.matrix_rows = columns, .threads = work.threads.threads(), .product_limit = kResultFloats});
  work.threads.parallel_for(
      tasks.size(), 1, [&](std::uint64_t index, std::uint64_t, std::size_t worker) {
        const ExpertTask& task = tasks[index];
        const std::size_t place = work.groups.begins[task.expert];
        multiply(
            work.linear,
            work.experts.down.matrices[task.expert].slice(first + task.first, first + task.end),
            hidden.part(place, work.count(task.expert), work.intermediate),
            {.values = work.scratch.results.data() + place * columns + task.first,
             .stride = columns},
            work.decoded(worker));
      });
}

// Each row's sum over its experts, of the columns that lower() made. `places` are those of the
// routing's choices.
void sum(const Work& work, const std::vector<std::uint32_t>& places, std::size_t first,
         std::size_t columns, LinearOutput output, Tensor& out) {
  const std::size_t top_k = work.routing.top_k;
  const std::size_t parts = (columns + kSumColumns - 1) / kSumColumns;
  const auto sum_parts = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t index = begin; index < end; ++index) {
      const auto row = static_cast<std::uint32_t>(index / parts);
      const std::size_t column = index % parts * kSumColumns;
      work.elementwise.weighted_sum({.terms = work.scratch.results.data() + column,
                                     .term_stride = columns,
                                     .places = places.data() + row * top_k,
                                     .weights = work.routing.weights.data() + row * top_k,
                                     .count = top_k,
                                     .output = out.row(row) + first + column,
                                     .columns = std::min(kSumColumns, columns - column),
                                     .accumulate = output == LinearOutput::accumulate});
    }
  };
  const std::uint64_t total = out.rows() * parts;
  if (work.places() * columns <= kSumAlone) {
    sum_parts(0, total);
    return;
  }
  work.threads.parallel_for(
      total, std::max<std::uint64_t>(1, total / (work.threads.threads() * kTurnsAThread)),
      sum_parts);
}

// Columns of the width that are done at a time.
std::size_t result_columns(std::size_t places, std::size_t width) {
  constexpr std::size_t kFewest = 8 * kPieceRows;
  const std::size_t fitting = kResultFloats / places / kPieceRows * kPieceRows;
  return std::min(width, std::max(fitting, kFewest));
}

// Where the results of the routing's choices lie.
std::vector<std::uint32_t> places_of(const moe::ExpertRows& groups) {
  std::vector<std::uint32_t> places(groups.slots.size());
  for (std::size_t place = 0; place < places.size(); ++place) {
    places[groups.slots[place]] = static_cast<std::uint32_t>(place);
  }
  return places;
}

bool ascends(const moe::Routing& routing) {
  for (std::size_t i = 1; i < routing.experts.size(); ++i) {
    if (i % routing.top_k != 0 && routing.experts[i - 1] >= routing.experts[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

// Three loops over the threads: gate and up with what joins them, down, each row's sum.
Status CpuBackend::experts(const Tensor& in, const Experts& experts, const moe::Routing& routing,
                           const activation::Spec& act, LinearOutput output, Tensor& out) {
  const MatrixView& shape = experts.gate.matrices.front();
  ZLLM_CHECK(routing.rows() == in.rows() && in.rows() == out.rows() &&
                 in.columns() == shape.columns && out.columns() == shape.columns,
             "shape of experts");
  ZLLM_CHECK(ascends(routing), "a row's experts out of order");
  if (in.rows() == 0) {
    return {};
  }
  const auto number = static_cast<std::uint32_t>(experts.gate.matrices.size());
  Work work{.linear = *state_->linear,
            .elementwise = *state_->elementwise,
            .threads = state_->threads,
            .scratch = state_->experts,
            .decoded_rows = state_->decoded_rows,
            .experts = experts,
            .routing = routing,
            .groups = moe::group_by_expert(routing, number),
            .width = shape.columns,
            .intermediate = shape.rows};
  survey(work);
  const auto tasks = cut_experts(work.groups, {.matrix_rows = work.intermediate,
                                               .threads = work.threads.threads(),
                                               .product_limit = kJoinedProducts});
  std::size_t joined_floats = 0;  // of one thread
  for (const ExpertTask& task : tasks) {
    joined_floats = std::max(joined_floats, 2 * work.count(task.expert) * (task.end - task.first));
  }
  const std::size_t columns = result_columns(work.places(), work.width);
  ZLLM_TRY(reserve(work, joined_floats, columns));
  if (work.has_packed_inputs) {
    ZLLM_TRY(quantize(in));
  }
  const Activations inputs{.blocks = work.has_packed_inputs ? state_->activations.data() : nullptr,
                           .values = work.has_other_inputs ? in.data() : nullptr,
                           .rows = in.rows()};
  ZLLM_TRY(gather(work, inputs));
  work.threads.parallel_for(
      tasks.size(), 1, [&](std::uint64_t index, std::uint64_t, std::size_t worker) {
        join(work, tasks[index], inputs_of(work, inputs, tasks[index].expert), act,
             work.scratch.joined.data() + joined_floats * worker, worker);
      });
  const std::vector<std::uint32_t> places = places_of(work.groups);
  for (std::size_t first = 0; first < work.width; first += columns) {
    const std::size_t part = std::min(columns, work.width - first);
    lower(work, first, part);
    sum(work, places, first, part, output, out);
  }
  return {};
}

}  // namespace zllm::backend::cpu
