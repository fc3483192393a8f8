#include <zllm/registry/conformance_subjects.h>

#include <zllm/conformance/cpu/subjects.h>
#include <zllm/registry/model_registry.h>

namespace zllm::registry {

Result<conformance::Subjects> conformance_subjects(std::string_view backend, unsigned threads) {
  ZLLM_TRY(check_backend(backend));
  return conformance::cpu::subjects(threads);
}

}  // namespace zllm::registry
