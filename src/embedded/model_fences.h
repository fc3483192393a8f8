#pragma once

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/text/fence/fence_factory.h>
#include <zllm/text/tokenizer.h>

namespace zllm {

// The fences of one model, made when they are first asked for: that takes as long as the weights of
// a small model. Thread-safe.
class ModelFences {
 public:
  // end_tokens: of the model; without any there are no fences.
  ModelFences(text::Tokenizer tokenizer, std::vector<TokenId> end_tokens)
      : tokenizer_(std::move(tokenizer)), end_tokens_(std::move(end_tokens)) {}

  // Valid as long as this.
  Result<const text::FenceFactory *> get() const {
    std::call_once(once_,
                   [this] { made_.emplace(text::FenceFactory::create(tokenizer_, end_tokens_)); });
    if (!made_->ok()) {
      return made_->error();
    }
    return &made_->value();
  }

 private:
  text::Tokenizer tokenizer_;
  std::vector<TokenId> end_tokens_;
  mutable std::once_flag once_;
  mutable std::optional<Result<text::FenceFactory>> made_;
};

}  // namespace zllm
