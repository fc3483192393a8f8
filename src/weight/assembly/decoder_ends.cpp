#include <zllm/weight/assembly/decoder_ends.h>

#include <algorithm>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/weight/assembly/special_tokens.h>

namespace zllm::weight {

EndNames hub_end_names(std::string_view prefix) {
  return {.embedding = concat(prefix, "embed_tokens.weight"),
          .final_norm = concat(prefix, "norm.weight"),
          .head = "lm_head.weight"};
}

EndNames gguf_end_names() {
  return {.embedding = "token_embd.weight",
          .final_norm = "output_norm.weight",
          .head = "output.weight"};
}

EndWeights bind_ends(WeightBinder& binder, const EndNames& names, EndShape shape) {
  EndWeights ends;
  ends.embedding = binder.matrix(names.embedding, shape.vocabulary, shape.hidden);
  ends.final_norm = binder.vector(names.final_norm, shape.hidden);
  ends.head = ends.embedding;
  if (!shape.tied || binder.has(names.head)) {
    const auto head = binder.matrix(names.head, shape.vocabulary, shape.hidden);
    ends.head = shape.tied ? ends.embedding : head;
  }
  return ends;
}

bool has_other_head(const TensorTable& tensors, const EndNames& names) {
  const TensorEntry *head = tensors.find(names.head);
  const TensorEntry *embedding = tensors.find(names.embedding);
  return head != nullptr && embedding != nullptr &&
         (head->encoding != embedding->encoding ||
          !std::ranges::equal(head->bytes, embedding->bytes));
}

Status read_hub_tokens(const ModelFiles& files, const Json& config, std::uint64_t vocabulary,
                       FileFacts& facts) {
  const Json *generation = files.generation_config ? &*files.generation_config : nullptr;
  ZLLM_TRY(auto special,
           special_tokens_from_config(config, generation, vocabulary, facts.warnings));
  facts.end_tokens = std::move(special.end);
  facts.begin_token = special.begin;
  return {};
}

Status read_gguf_tokens(const ModelFiles& files, std::uint64_t vocabulary, FileFacts& facts) {
  ZLLM_TRY(auto special, special_tokens_from_metadata(*files.gguf, vocabulary, facts.warnings));
  facts.end_tokens = std::move(special.end);
  facts.begin_token = special.begin;
  return {};
}

}  // namespace zllm::weight
