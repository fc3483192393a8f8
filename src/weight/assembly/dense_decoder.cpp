#include <zllm/weight/assembly/dense_decoder.h>

#include <string>
#include <string_view>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/assemble_files.h>
#include <zllm/weight/assembly/dense_decoder_names.h>
#include <zllm/weight/assembly/dense_decoder_spec.h>
#include <zllm/weight/assembly/ends.h>
#include <zllm/weight/assembly/gqa_attention.h>
#include <zllm/weight/assembly/weight_binder.h>

namespace zllm::weight {
namespace {

MlpWeights bind_mlp(WeightBinder& binder, std::string_view prefix, const DenseDecoderNames& names,
                    const model_spec::DenseDecoder& spec) {
  const auto matrix = [&](std::string_view stem, std::uint64_t rows, std::uint64_t columns) {
    return binder.matrix(concat(prefix, stem, ".weight"), rows, columns);
  };
  const auto bias = [&](std::string_view stem, std::uint64_t size) {
    return binder.vector(concat(prefix, stem, ".bias"), size);
  };
  MlpWeights mlp;
  mlp.gate = matrix(names.gate, spec.intermediate, spec.hidden);
  mlp.up = matrix(names.up, spec.intermediate, spec.hidden);
  mlp.down = matrix(names.down, spec.hidden, spec.intermediate);
  if (spec.mlp_bias) {
    mlp.gate_bias = bias(names.gate, spec.intermediate);
    mlp.up_bias = bias(names.up, spec.intermediate);
    mlp.down_bias = bias(names.down, spec.hidden);
  }
  return mlp;
}

void bind_layers(WeightBinder& binder, std::string_view layers_prefix,
                 const DenseDecoderNames& names, DenseDecoderModel& model) {
  const model_spec::DenseDecoder& spec = model.spec;
  const GqaShape shape{.hidden = spec.hidden,
                       .query_heads = spec.query_heads,
                       .kv_heads = spec.kv_heads,
                       .head = spec.head,
                       .query_key_norm = spec.query_key_norm,
                       .qkv_bias = spec.qkv_bias,
                       .output_bias = spec.output_bias};
  for (std::uint32_t layer = 0; layer < spec.layers; ++layer) {
    const std::string prefix = concat(layers_prefix, layer, ".");
    DenseDecoderLayer weights;
    weights.attention_norm =
        binder.vector(concat(prefix, names.attention_norm, ".weight"), spec.hidden);
    weights.attention = bind_gqa(binder, prefix, names.attention, shape);
    weights.mlp_norm = binder.vector(concat(prefix, names.mlp_norm, ".weight"), spec.hidden);
    weights.mlp = bind_mlp(binder, prefix, names, spec);
    model.layers.push_back(weights);
  }
}

Status assemble_hub(const ModelFiles& files, DenseDecoderModel& model) {
  model_spec::DenseDecoder& spec = model.spec;
  ZLLM_TRY(spec, dense_decoder_from_config(*files.config, model.facts.warnings));
  ZLLM_TRY(read_hub_tokens(files, *files.config, spec.vocabulary, model.facts));
  const EndNames bare = hub_end_names(kBareHubPrefix);
  const EndNames usual = hub_end_names(kHubPrefix);
  const bool is_bare = files.tensors.find(usual.embedding) == nullptr &&
                       files.tensors.find(bare.embedding) != nullptr;
  const EndNames& ends = is_bare ? bare : usual;
  spec.tied_embeddings =
      still_tied(files.tensors, ends, spec.tied_embeddings, model.facts.warnings);
  WeightBinder binder(files.tensors);
  model.ends = bind_ends(binder, ends, spec.vocabulary, spec.hidden, spec.tied_embeddings);
  const std::string_view body = is_bare ? kBareHubPrefix.body : kHubPrefix.body;
  bind_layers(binder, concat(body, "layers."), kHubNames, model);
  return binder.finish(kIgnoredHubEndings);
}

Status assemble_gguf(const ModelFiles& files, DenseDecoderModel& model) {
  ZLLM_TRY(model.spec, dense_decoder_from_metadata(*files.gguf, files.tensors));
  const model_spec::DenseDecoder& spec = model.spec;
  ZLLM_TRY(read_gguf_tokens(files, spec.vocabulary, model.facts));
  WeightBinder binder(files.tensors);
  model.ends =
      bind_ends(binder, gguf_end_names(), spec.vocabulary, spec.hidden, spec.tied_embeddings);
  bind_layers(binder, "blk.", kGgufNames, model);
  return binder.finish(kIgnoredGgufEndings);
}

}  // namespace

Result<DenseDecoderModel> assemble_dense_decoder(const ModelFiles& files) {
  return assemble_files<DenseDecoderModel>(files, assemble_hub, assemble_gguf);
}

}  // namespace zllm::weight
