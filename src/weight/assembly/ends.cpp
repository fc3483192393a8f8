#include <zllm/weight/assembly/ends.h>

#include <algorithm>

#include <zllm/base/text.h>

namespace zllm::weight {
namespace {

constexpr std::string_view kHubEmbedding = "embed_tokens.weight";

}  // namespace

const HubPrefix& hub_prefix_of(const TensorTable& tensors) {
  for (const HubPrefix& prefix : kHubPrefixes) {
    if (tensors.find(concat(prefix.body, kHubEmbedding)) != nullptr) {
      return prefix;
    }
  }
  return kHubPrefixes.front();
}

EndNames hub_end_names(const HubPrefix& prefix) {
  return {.embedding = concat(prefix.body, kHubEmbedding),
          .final_norm = concat(prefix.body, "norm.weight"),
          .head = std::string(prefix.head)};
}

EndNames gguf_end_names() {
  return {.embedding = "token_embd.weight",
          .final_norm = "output_norm.weight",
          .head = "output.weight"};
}

EndWeights bind_ends(WeightBinder& binder, const EndNames& names, std::uint32_t vocabulary,
                     std::uint32_t hidden, bool tied) {
  EndWeights ends;
  ends.embedding = binder.matrix(names.embedding, vocabulary, hidden);
  ends.final_norm = binder.vector(names.final_norm, hidden);
  ends.head = ends.embedding;
  if (!tied) {
    ends.head = binder.matrix(names.head, vocabulary, hidden);
  } else if (binder.has(names.head)) {  // a copy, claimed so that it is expected
    binder.matrix(names.head, vocabulary, hidden);
  }
  return ends;
}

bool still_tied(const TensorTable& tensors, const EndNames& names, bool tied,
                std::vector<std::string>& warnings) {
  const TensorEntry *head = tensors.find(names.head);
  const TensorEntry *embedding = tensors.find(names.embedding);
  if (!tied || head == nullptr || embedding == nullptr) {
    return tied;
  }
  if (head->encoding == embedding->encoding && std::ranges::equal(head->bytes, embedding->bytes)) {
    return true;
  }
  warnings.push_back(concat("config.json: tie_word_embeddings is true, but ", names.head,
                            " differs from the embedding; the head of the file is used"));
  return false;
}

}  // namespace zllm::weight
