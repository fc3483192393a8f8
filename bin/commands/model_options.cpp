#include "model_options.h"

#include <algorithm>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/encoding/encoding.h>

namespace zllm::commands {
namespace {

bool is_quantised(const weight::TensorEntry& tensor) {
  return encoding::info(tensor.encoding).block_elements > 1;
}

Result<backend::KvType> kv_type(const ModelOptions& options, const weight::ModelFiles& files,
                                KvDefault kv_default) {
  if (options.kv_type == "f32") {
    return backend::KvType::f32;
  }
  if (options.kv_type == "f16") {
    return backend::KvType::f16;
  }
  if (!options.kv_type.empty()) {
    return Error{Code::invalid_argument,
                 concat("--kv-type ", quote(options.kv_type), " is not one of f32, f16")};
  }
  const bool is_plain = std::ranges::none_of(files.tensors.entries(), is_quantised);
  return kv_default == KvDefault::by_weights && is_plain ? backend::KvType::f32
                                                         : backend::KvType::f16;
}

}  // namespace

Result<registry::Model> load(const ModelOptions& options, std::uint64_t rows,
                             KvDefault kv_default) {
  ZLLM_TRY(weight::ModelFiles files, weight::open_model(options.model));
  runtime::LoadOptions load_options{.context = options.context, .cache_rows = rows};
  load_options.sequences = options.sequences;
  ZLLM_TRY(load_options.kv_type, kv_type(options, files, kv_default));
  return registry::load_model(std::move(files),
                              {.name = options.backend, .threads = options.threads}, load_options);
}

}  // namespace zllm::commands
