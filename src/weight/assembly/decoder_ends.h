#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/weight/assembly/assembled_model.h>
#include <zllm/weight/assembly/weight_binder.h>
#include <zllm/weight/container/model_files.h>
#include <zllm/weight/container/tensor_table.h>

namespace zllm::weight {

// Complete names of the tensors at both ends of a decoder.
struct EndNames {
  std::string embedding;
  std::string final_norm;
  std::string head;
};

// Of a Hub model whose layers lie under `prefix`, "model.".
EndNames hub_end_names(std::string_view prefix);
EndNames gguf_end_names();

struct EndShape {
  std::uint64_t vocabulary = 0;
  std::uint64_t hidden = 0;
  bool tied = false;  // a head that is there all the same is claimed, and not used
};

EndWeights bind_ends(WeightBinder& binder, const EndNames& names, EndShape shape);

// Whether the file has a head of other numbers than the embedding's. transformers ties only heads
// that hold the same.
bool has_other_head(const TensorTable& tensors, const EndNames& names);

// Begin and end tokens of a Hub folder; `config` is the object that states the vocabulary.
Status read_hub_tokens(const ModelFiles& files, const Json& config, std::uint64_t vocabulary,
                       FileFacts& facts);
Status read_gguf_tokens(const ModelFiles& files, std::uint64_t vocabulary, FileFacts& facts);

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
