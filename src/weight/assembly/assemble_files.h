#pragma once

#include <cstdint>
#include <utility>

#include <zllm/base/result.h>
#include <zllm/weight/assembly/assembled_model.h>
#include <zllm/weight/assembly/special_tokens.h>
#include <zllm/weight/container/model_files.h>

namespace zllm::weight {

// Begin and end tokens of a Hub folder; `config` is the object that states them.
inline Status read_hub_tokens(const ModelFiles& files, const Json& config, std::uint64_t vocabulary,
                              FileFacts& facts) {
  const Json *generation = files.generation_config ? &*files.generation_config : nullptr;
  ZLLM_TRY(auto special,
           special_tokens_from_config(config, generation, vocabulary, facts.warnings));
  facts.end_tokens = std::move(special.end);
  facts.begin_token = special.begin;
  return {};
}

inline Status read_gguf_tokens(const ModelFiles& files, std::uint64_t vocabulary,
                               FileFacts& facts) {
  ZLLM_TRY(auto special, special_tokens_from_metadata(*files.gguf, vocabulary, facts.warnings));
  facts.end_tokens = std::move(special.end);
  facts.begin_token = special.begin;
  return {};
}

// The one way from files to a model of a family: its reader of GGUF metadata or of config.json
// fills the model. Errors name the path.
template <class Model, class Hub, class Gguf>
Result<Model> assemble_files(const ModelFiles& files, const Hub& from_hub, const Gguf& from_gguf) {
  Model model;
  model.facts.path = files.path;
  Status status;
  if (files.gguf) {
    status = from_gguf(files, model);
  } else if (files.config) {
    status = from_hub(files, model);
  } else {
    status = Error{Code::invalid_file, "there is neither GGUF metadata nor a config.json"};
  }
  if (!status.ok()) {
    return std::move(status).error().within(files.path);
  }
  return model;
}

}  // namespace zllm::weight
