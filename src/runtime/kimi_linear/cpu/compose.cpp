#include <zllm/runtime/kimi_linear/cpu/compose.h>

#include <zllm/runtime/kimi_linear/kimi_linear-inl.h>

namespace zllm::runtime::kimi_linear {

template class KimiLinearModel<backend::cpu::CpuBackend>;

Result<LoadedModel> load_on_cpu(const weight::ModelFiles& files, backend::cpu::CpuBackend& backend,
                                const LoadOptions& options) {
  return load<backend::cpu::CpuBackend>(files, backend, options);
}

}  // namespace zllm::runtime::kimi_linear
