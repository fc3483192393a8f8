#include <zllm/runtime/dense/cpu/compose.h>

#include <zllm/runtime/dense/dense_model-inl.h>

namespace zllm::runtime::dense {

template class DenseModel<backend::cpu::CpuBackend>;

Result<LoadedModel> load_on_cpu(const weight::ModelFiles& files, backend::cpu::CpuBackend& backend,
                                const LoadOptions& options) {
  return load<backend::cpu::CpuBackend>(files, backend, options);
}

}  // namespace zllm::runtime::dense
