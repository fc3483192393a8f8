#include <algorithm>

#include <zllm/activation/reference.h>
#include <zllm/backend/cpu/gate.h>
#include <zllm/backend/cpu/state.h>

namespace zllm::backend::cpu {
namespace {

// Rows are shared among threads from this many values on; below, waking them costs more.
constexpr std::size_t kValuesAlone = 16384;

bool same_shape(const Tensor& a, const Tensor& b) {
  return a.rows() == b.rows() && a.columns() == b.columns();
}

bool has_groups_of(const Tensor& rows, const Weight& weight) {
  return rows.columns() % (weight.rows() * weight.columns()) == 0;
}

// Rows [begin, end), in groups of the weight's length.
kernel::cpu::NormParams norm_params(const Tensor& in, const Weight& weight, Tensor& out,
                                    std::uint32_t begin, std::uint32_t end) {
  const std::size_t group = weight.rows() * weight.columns();
  return {.input = in.row(begin),
          .output = out.row(begin),
          .input_row_stride = in.columns(),
          .output_row_stride = out.columns(),
          .rows = end - begin,
          .groups = in.columns() / group,
          .columns = group,
          .weight = weight.values(),
          .bias = nullptr,
          .epsilon = 0.0F};
}

}  // namespace

template <class Rows>
void CpuBackend::for_rows(const Tensor& tensor, Rows rows) {
  if (tensor.size() <= kValuesAlone) {
    rows(0, tensor.rows());
    return;
  }
  const std::uint64_t grain =
      std::max<std::uint64_t>(1, tensor.rows() / (4 * state_->threads.threads()));
  state_->threads.parallel_for(tensor.rows(), grain, [&](std::uint64_t begin, std::uint64_t end) {
    rows(static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end));
  });
}

Status CpuBackend::norm(const Tensor& in, const Weight& weight, double epsilon, Tensor& out) {
  ZLLM_CHECK(same_shape(in, out) && has_groups_of(in, weight), "shape of norm");
  for_rows(in, [&](std::uint32_t begin, std::uint32_t end) {
    auto params = norm_params(in, weight, out, begin, end);
    params.epsilon = static_cast<float>(epsilon);
    state_->elementwise->rms_norm(params);
  });
  return {};
}

Status CpuBackend::layer_norm(const Tensor& in, const Weight& weight, const Weight& bias,
                              double epsilon, Tensor& out) {
  ZLLM_CHECK(same_shape(in, out) && has_groups_of(in, weight) &&
                 bias.rows() * bias.columns() == weight.rows() * weight.columns(),
             "shape of layer_norm");
  for_rows(in, [&](std::uint32_t begin, std::uint32_t end) {
    auto params = norm_params(in, weight, out, begin, end);
    params.bias = bias.values();
    params.epsilon = static_cast<float>(epsilon);
    state_->elementwise->layer_norm(params);
  });
  return {};
}

Status CpuBackend::gated_norm(const norm::Spec& spec, const Tensor& in, const Weight& weight,
                              const Tensor& gate, Tensor& out) {
  ZLLM_CHECK(norm::has_gate(spec.flavour), "gated_norm of a flavour without gate");
  ZLLM_CHECK(same_shape(in, out) && same_shape(in, gate) && has_groups_of(in, weight),
             "shape of gated_norm");
  const bool is_silu = spec.flavour == norm::Flavour::gated_rms_silu;
  for_rows(in, [&](std::uint32_t begin, std::uint32_t end) {
    auto params = norm_params(in, weight, out, begin, end);
    params.epsilon = static_cast<float>(spec.epsilon);
    state_->elementwise->gated_rms_norm(
        {.norm = params,
         .gate = gate.row(begin),
         .gate_row_stride = gate.columns(),
         .function = is_silu ? kernel::cpu::NormGate::silu : kernel::cpu::NormGate::sigmoid});
  });
  return {};
}

Status CpuBackend::activate(const activation::Spec& spec, const Tensor& gate, const Tensor& up,
                            Tensor& out) {
  ZLLM_CHECK(same_shape(gate, up) && same_shape(gate, out), "shape of activate");
  for_rows(gate, [&](std::uint32_t begin, std::uint32_t end) {
    pass_gate(*state_->elementwise, spec,
              {.left = gate.row(begin),
               .right = up.row(begin),
               .output = out.row(begin),
               .left_row_stride = gate.columns(),
               .right_row_stride = up.columns(),
               .output_row_stride = out.columns(),
               .rows = end - begin,
               .columns = gate.columns()});
  });
  return {};
}

Status CpuBackend::add_gated(const Tensor& rows, const Tensor& gates, Tensor& out) {
  ZLLM_CHECK(rows.size() == out.size() && gates.columns() == 1 && gates.rows() == rows.rows(),
             "shape of add_gated");
  for_rows(rows, [&](std::uint32_t begin, std::uint32_t end) {
    constexpr std::uint32_t kItself = 0;
    for (std::uint32_t row = begin; row < end; ++row) {
      const auto gate =
          static_cast<float>(activation::sigmoid(static_cast<double>(*gates.row(row))));
      state_->elementwise->weighted_sum({.terms = rows.row(row),
                                         .term_stride = rows.columns(),
                                         .places = &kItself,
                                         .weights = &gate,
                                         .count = 1,
                                         .output = out.row(row),
                                         .columns = out.columns(),
                                         .accumulate = true});
    }
  });
  return {};
}

Status CpuBackend::rotate(Tensor& heads, const RotarySpec& spec, const Tensor& cosine,
                          const Tensor& sine) {
  ZLLM_CHECK(heads.columns() % spec.head == 0 && spec.first + spec.rotated <= spec.head &&
                 cosine.rows() == heads.rows() && sine.rows() == heads.rows(),
             "shape of rotate");
  for_rows(heads, [&](std::uint32_t begin, std::uint32_t end) {
    state_->elementwise->rope({.heads = heads.row(begin) + spec.first,
                               .row_stride = heads.columns(),
                               .rows = end - begin,
                               .head_count = heads.columns() / spec.head,
                               .head = spec.head,
                               .rotated = spec.rotated,
                               .cosines = cosine.row(begin),
                               .sines = sine.row(begin),
                               .pairing = spec.pairing == rope::Pairing::half
                                              ? kernel::cpu::RopePairing::half
                                              : kernel::cpu::RopePairing::adjacent});
  });
  return {};
}

}  // namespace zllm::backend::cpu
