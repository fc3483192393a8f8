#include <algorithm>

#include <zllm/backend/cpu/state.h>

namespace zllm::backend::cpu {
namespace {

// Rows are shared among threads from this many values on; below, waking them costs more.
constexpr std::size_t kValuesAlone = 16384;

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
  const std::size_t group = weight.rows() * weight.columns();
  ZLLM_CHECK(in.size() == out.size() && in.columns() % group == 0, "shape of norm");
  for_rows(in, [&](std::uint32_t begin, std::uint32_t end) {
    state_->elementwise->rms_norm({.input = in.row(begin),
                                   .output = out.row(begin),
                                   .input_row_stride = in.columns(),
                                   .output_row_stride = out.columns(),
                                   .rows = end - begin,
                                   .groups = in.columns() / group,
                                   .columns = group,
                                   .weight = weight.values(),
                                   .bias = nullptr,
                                   .epsilon = static_cast<float>(epsilon)});
  });
  return {};
}

Status CpuBackend::activate(const activation::Spec& spec, const Tensor& gate, const Tensor& up,
                            Tensor& out) {
  ZLLM_CHECK(gate.size() == up.size() && gate.size() == out.size(), "shape of activate");
  ZLLM_CHECK(spec.gate == activation::Gate::swiglu, "an activation without kernel");
  for_rows(gate, [&](std::uint32_t begin, std::uint32_t end) {
    state_->elementwise->swiglu({.left = gate.row(begin),
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

Status CpuBackend::rotate(Tensor& heads, const RotarySpec& spec, const Tensor& cosine,
                          const Tensor& sine) {
  ZLLM_CHECK(heads.columns() % spec.head == 0 && spec.rotated <= spec.head &&
                 cosine.rows() == heads.rows() && sine.rows() == heads.rows(),
             "shape of rotate");
  for_rows(heads, [&](std::uint32_t begin, std::uint32_t end) {
    state_->elementwise->rope({.heads = heads.row(begin),
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
