#include <algorithm>

#include <zllm/base/text.h>
#include <zllm/base/utf8.h>
#include <zllm/text/fence/exact_tokens.h>
#include <zllm/text/fence/grammar_fence-inl.h>
#include <zllm/text/fence/token_set.h>

namespace zllm::text {

namespace {

// What a grammar fails at beside an answer is a bound of its compiler: the request's to mend.
Error beyond_bounds(const Error& error) {
  return Error{Code::unsupported,
               concat("the answer's grammar goes beyond what is followed: ", error.message)};
}

}  // namespace

Result<std::unique_ptr<engine::Fence>> GrammarFence::create(
    std::shared_ptr<const FenceVocabulary> vocabulary, edge::Grammar grammar) {
  std::unique_ptr<GrammarFence> fence(new GrammarFence(std::move(vocabulary), std::move(grammar)));
  const Result<std::span<const std::uint32_t>> first = fence->mask();
  if (!first.ok()) {
    return Error{Code::invalid_argument, concat("no text satisfies it: ", first.error().message)};
  }
  ZLLM_TRY(fence->forced());
  ZLLM_TRY(fence->is_finished_, fence->grammar_->stopped());
  return std::unique_ptr<engine::Fence>(std::move(fence));
}

std::unique_ptr<engine::Fence> GrammarFence::clone() const {
  Result<edge::Grammar> grammar = grammar_.ok() ? grammar_->clone() : grammar_.error();
  if (grammar_.ok() && !grammar.ok()) {
    grammar = beyond_bounds(grammar.error());
  }
  std::unique_ptr<GrammarFence> copy(new GrammarFence(vocabulary_, std::move(grammar)));
  copy->mask_ = mask_;
  copy->is_finished_ = is_finished_;
  return copy;
}

Result<std::span<const std::uint32_t>> GrammarFence::mask() {
  if (!mask_) {
    if (!grammar_.ok()) {
      return grammar_.error();
    }
    Result<std::vector<std::uint32_t>> found = grammar_->mask();
    if (!found.ok()) {
      return beyond_bounds(found.error());
    }
    std::vector<std::uint32_t> mask = *std::move(found);
    const bool may_end = has_token(mask, vocabulary_->end_tokens.front());
    for (const TokenId end : vocabulary_->end_tokens) {
      may_end ? allow_token(mask, end) : ban_token(mask, end);
    }
    mask_ = std::move(mask);
  }
  return std::span<const std::uint32_t>(*mask_);
}

Result<std::vector<TokenId>> GrammarFence::forced() {
  if (!grammar_.ok()) {
    return grammar_.error();
  }
  if (is_finished_) {
    return std::vector<TokenId>();
  }
  const Result<std::string> bytes = grammar_->forced_bytes();
  return bytes.ok() ? settled_tokens(*bytes) : beyond_bounds(bytes.error());
}

// Tokens at the end that what follows could be a part of are left to the model.
Result<std::vector<TokenId>> GrammarFence::settled_tokens(std::string_view bytes) const {
  const std::string_view text = bytes.substr(0, bytes.size() - utf8_incomplete_suffix(bytes));
  std::vector<TokenId> tokens = exact_tokens(vocabulary_->tokenizer, text);
  std::size_t keep = tokens.size();
  std::size_t start = text.size();
  for (std::size_t i = tokens.size(); i-- > 0;) {
    start -= vocabulary_->tokenizer.token_bytes(tokens[i]).size();
    if (bytes.size() - start > vocabulary_->longest_token) {
      break;
    }
    ZLLM_TRY(const bool is_open, vocabulary_->grammar.extends(bytes.substr(start)));
    keep = is_open ? i : keep;
  }
  tokens.resize(keep);
  return tokens;
}

Status GrammarFence::advance(TokenId token) {
  if (!grammar_.ok()) {
    return grammar_.error();
  }
  const std::vector<TokenId>& ends = vocabulary_->end_tokens;
  if (token < 0 || std::find(ends.begin(), ends.end(), token) != ends.end()) {
    return Error{Code::invalid_argument, concat("the grammar does not go on by token ", token)};
  }
  const Status consumed = grammar_->consume(token);
  return consumed.ok() ? moved() : beyond_bounds(consumed.error());
}

Status GrammarFence::rollback(std::size_t tokens) {
  if (!grammar_.ok()) {
    return grammar_.error();
  }
  ZLLM_TRY(grammar_->rollback(static_cast<std::uint32_t>(tokens)));
  return moved();
}

Status GrammarFence::moved() {
  mask_.reset();
  const Result<bool> stopped = grammar_->stopped();
  if (!stopped.ok()) {
    return beyond_bounds(stopped.error());
  }
  is_finished_ = *stopped;
  return {};
}

}  // namespace zllm::text
