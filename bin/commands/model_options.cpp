#include "model_options.h"

#include <utility>

#include <zllm/base/text.h>

namespace zllm::commands {

Result<registry::Model> load(const ModelOptions& options, std::uint64_t rows) {
  runtime::LoadOptions load_options{.context = options.context, .cache_rows = rows};
  if (options.kv_type == "f32") {
    load_options.kv_type = backend::KvType::f32;
  } else if (options.kv_type == "f16") {
    load_options.kv_type = backend::KvType::f16;
  } else {
    return Error{Code::invalid_argument,
                 concat("--kv-type ", quote(options.kv_type), " is not one of f32, f16")};
  }
  ZLLM_TRY(weight::ModelFiles files, weight::open_model(options.model));
  return registry::load_model(std::move(files),
                              {.name = options.backend, .threads = options.threads}, load_options);
}

}  // namespace zllm::commands
