#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/edge/grammar.h>
#include <zllm/engine/fence/fence.h>
#include <zllm/text/tokenizer.h>

// A grammar as a fence; for the sources of this region alone, since it needs the edge.
namespace zllm::text {

struct FenceVocabulary {
  Tokenizer tokenizer;
  edge::GrammarVocabulary grammar;
  std::vector<TokenId> end_tokens;  // the first is the grammar's end of sequence
  std::size_t longest_token = 0;    // bytes
};

class GrammarFence final : public engine::Fence {
 public:
  // Refuses grammars that no text satisfies.
  static Result<std::unique_ptr<engine::Fence>> create(
      std::shared_ptr<const FenceVocabulary> vocabulary, edge::Grammar grammar);

  std::unique_ptr<engine::Fence> clone() const override;
  Result<std::span<const std::uint32_t>> mask() override;
  Result<std::vector<TokenId>> forced() override;
  Status advance(TokenId token) override;
  Status rollback(std::size_t tokens) override;
  bool is_finished() const override { return is_finished_; }

 private:
  GrammarFence(std::shared_ptr<const FenceVocabulary> vocabulary, Result<edge::Grammar> grammar)
      : vocabulary_(std::move(vocabulary)), grammar_(std::move(grammar)) {}
  Status moved();
  Result<std::vector<TokenId>> settled_tokens(std::string_view bytes) const;

  std::shared_ptr<const FenceVocabulary> vocabulary_;
  Result<edge::Grammar> grammar_;  // failed where it could not be cloned
  std::optional<std::vector<std::uint32_t>> mask_ = {};
  bool is_finished_ = false;
};

}  // namespace zllm::text
