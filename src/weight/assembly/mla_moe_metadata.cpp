#include <zllm/weight/assembly/mla_moe_spec.h>

namespace zllm::weight {

Result<model_spec::MlaMoe> mla_moe_from_metadata(const GgufMetadata& /*metadata*/,
                                                 const TensorTable& /*tensors*/) {
  return Error{Code::unsupported, "GGUF files of this family are not supported yet"};
}

}  // namespace zllm::weight
