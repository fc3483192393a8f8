#include <zllm/weight/assembly/dense_decoder.h>

#include <algorithm>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/dense_decoder_names.h>
#include <zllm/weight/assembly/dense_decoder_spec.h>
#include <zllm/weight/assembly/special_tokens.h>
#include <zllm/weight/assembly/weight_binder.h>

namespace zllm::weight {
namespace {

// Binds the tensors of one layer under its names.
class LayerBinder {
 public:
  LayerBinder(WeightBinder& binder, std::string prefix)
      : binder_(binder), prefix_(std::move(prefix)) {}

  encoding::WeightView matrix(std::string_view stem, std::uint64_t rows, std::uint64_t columns) {
    return binder_.matrix(concat(prefix_, stem, ".weight"), rows, columns);
  }
  encoding::WeightView norm(std::string_view stem, std::uint64_t size) {
    return binder_.vector(concat(prefix_, stem, ".weight"), size);
  }
  std::optional<encoding::WeightView> bias(bool wanted, std::string_view stem, std::uint64_t size) {
    if (!wanted) {
      return std::nullopt;
    }
    return binder_.vector(concat(prefix_, stem, ".bias"), size);
  }

 private:
  WeightBinder& binder_;
  std::string prefix_;
};

DenseDecoderLayer bind_layer(LayerBinder binder, const DenseDecoderNames& names,
                             const model_spec::DenseDecoder& spec) {
  const std::uint64_t queries = std::uint64_t{spec.query_heads} * spec.head;
  const std::uint64_t keys = std::uint64_t{spec.kv_heads} * spec.head;
  DenseDecoderLayer layer;
  layer.attention_norm = binder.norm(names.attention_norm, spec.hidden);
  layer.attention.query = binder.matrix(names.query, queries, spec.hidden);
  layer.attention.key = binder.matrix(names.key, keys, spec.hidden);
  layer.attention.value = binder.matrix(names.value, keys, spec.hidden);
  layer.attention.output = binder.matrix(names.output, spec.hidden, queries);
  layer.attention.query_bias = binder.bias(spec.qkv_bias, names.query, queries);
  layer.attention.key_bias = binder.bias(spec.qkv_bias, names.key, keys);
  layer.attention.value_bias = binder.bias(spec.qkv_bias, names.value, keys);
  layer.attention.output_bias = binder.bias(spec.output_bias, names.output, spec.hidden);
  if (spec.query_key_norm) {
    layer.attention.query_norm = binder.norm(names.query_norm, spec.head);
    layer.attention.key_norm = binder.norm(names.key_norm, spec.head);
  }
  layer.mlp_norm = binder.norm(names.mlp_norm, spec.hidden);
  layer.mlp.gate = binder.matrix(names.gate, spec.intermediate, spec.hidden);
  layer.mlp.up = binder.matrix(names.up, spec.intermediate, spec.hidden);
  layer.mlp.down = binder.matrix(names.down, spec.hidden, spec.intermediate);
  layer.mlp.gate_bias = binder.bias(spec.mlp_bias, names.gate, spec.intermediate);
  layer.mlp.up_bias = binder.bias(spec.mlp_bias, names.up, spec.intermediate);
  layer.mlp.down_bias = binder.bias(spec.mlp_bias, names.down, spec.hidden);
  return layer;
}

void bind_model(WeightBinder& binder, std::string_view prefix, const DenseDecoderNames& names,
                DenseDecoderModel& model) {
  const model_spec::DenseDecoder& spec = model.spec;
  model.ends.embedding =
      binder.matrix(concat(prefix, names.embedding), spec.vocabulary, spec.hidden);
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    const LayerBinder layer_binder(binder, concat(prefix, names.layer, layer, "."));
    model.layers.push_back(bind_layer(layer_binder, names, spec));
  }
  model.ends.final_norm = binder.vector(concat(prefix, names.final_norm), spec.hidden);
  model.ends.head = spec.tied_embeddings
                        ? model.ends.embedding
                        : binder.matrix(std::string(names.head), spec.vocabulary, spec.hidden);
}

// A head that lies in the file although the configuration ties it: transformers ties only when
// both hold the same numbers.
void untie_different_head(const TensorTable& tensors, const TensorEntry *embedding,
                          DenseDecoderModel& model) {
  const TensorEntry *head = tensors.find(kHubNames.head);
  if (!model.spec.tied_embeddings || head == nullptr || embedding == nullptr) {
    return;
  }
  if (head->encoding != embedding->encoding || !std::ranges::equal(head->bytes, embedding->bytes)) {
    model.spec.tied_embeddings = false;
    model.facts.warnings.push_back(
        "config.json: tie_word_embeddings is true, but lm_head.weight differs from the embedding; "
        "the head of the file is used");
  }
}

Status assemble_hub(const ModelFiles& files, DenseDecoderModel& model) {
  ZLLM_TRY(model.spec, dense_decoder_from_config(*files.config, model.facts.warnings));
  const Json *generation = files.generation_config ? &*files.generation_config : nullptr;
  ZLLM_TRY(auto special, special_tokens_from_config(*files.config, generation,
                                                    model.spec.vocabulary, model.facts.warnings));
  model.facts.end_tokens = std::move(special.end);
  model.facts.begin_token = special.begin;
  const std::string with_prefix = concat(kHubPrefix, kHubNames.embedding);
  const bool bare = files.tensors.find(with_prefix) == nullptr &&
                    files.tensors.find(kHubNames.embedding) != nullptr;
  const std::string_view prefix = bare ? "" : kHubPrefix;
  untie_different_head(files.tensors, files.tensors.find(concat(prefix, kHubNames.embedding)),
                       model);
  WeightBinder binder(files.tensors);
  bind_model(binder, prefix, kHubNames, model);
  if (model.spec.tied_embeddings && binder.has(std::string(kHubNames.head))) {
    binder.matrix(std::string(kHubNames.head), model.spec.vocabulary, model.spec.hidden);
  }
  return binder.finish(kIgnoredHubEndings);
}

Status assemble_gguf(const ModelFiles& files, DenseDecoderModel& model) {
  ZLLM_TRY(model.spec, dense_decoder_from_metadata(*files.gguf, files.tensors));
  ZLLM_TRY(auto special,
           special_tokens_from_metadata(*files.gguf, model.spec.vocabulary, model.facts.warnings));
  model.facts.end_tokens = std::move(special.end);
  model.facts.begin_token = special.begin;
  WeightBinder binder(files.tensors);
  bind_model(binder, "", kGgufNames, model);
  return binder.finish(kIgnoredGgufEndings);
}

}  // namespace

Result<DenseDecoderModel> assemble_dense_decoder(const ModelFiles& files) {
  DenseDecoderModel model;
  model.facts.path = files.path;
  Status status;
  if (files.gguf) {
    status = assemble_gguf(files, model);
  } else if (files.config) {
    status = assemble_hub(files, model);
  } else {
    status = Error{Code::invalid_file, "there is neither GGUF metadata nor a config.json"};
  }
  if (!status.ok()) {
    return std::move(status).error().within(files.path);
  }
  return model;
}

}  // namespace zllm::weight
