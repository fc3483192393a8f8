#include <zllm/text/tokenizer.h>

#include <algorithm>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/base/utf8.h>
#include <zllm/edge/tokenizer.h>
#include <zllm/text/tokenizer_state-inl.h>
#include <zllm/text/utf8_repair.h>

namespace zllm::text {

Result<Tokenizer> Tokenizer::from_json(std::string_view json) {
  ZLLM_TRY(edge::Tokenizer tokenizer, edge::Tokenizer::from_json(json));
  ZLLM_TRY(std::vector<TokenId> begin, tokenizer.begin_tokens());
  ZLLM_TRY(edge::TokenTables tables, tokenizer.tables());
  State state;
  state.core = std::make_shared<const Core>(Core{std::move(tokenizer), std::move(tables)});
  if (!begin.empty()) {
    state.begin_of_sequence = begin.front();
  }
  state.begin = std::move(begin);
  return Tokenizer(std::make_shared<const State>(std::move(state)));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (text.size() > kMaxTextBytes) {
    return Error{Code::invalid_argument, concat("a text of ", text.size(), " bytes is longer than ",
                                                kMaxTextBytes, " and not tokenized at once")};
  }
  if (!is_valid_utf8(text)) {
    return Error{Code::invalid_argument, "the text to tokenize is not valid UTF-8"};
  }
  ZLLM_TRY(std::vector<TokenId> ids,
           state_->core->tokenizer.encode(text, options.parse_special, options.mark));
  if (options.add_begin) {
    begin(ids);
  }
  return ids;
}

std::size_t Tokenizer::begin(std::vector<TokenId>& ids) const {
  const std::span<const TokenId> tokens = begin_tokens();
  if (ids.size() >= tokens.size() && std::equal(tokens.begin(), tokens.end(), ids.begin())) {
    return 0;
  }
  ids.insert(ids.begin(), tokens.begin(), tokens.end());
  return tokens.size();
}

Result<std::vector<TokenId>> Tokenizer::encode_prompt(std::string_view rendered) const {
  return encode(rendered, {.parse_special = true, .add_begin = true});
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  std::string bytes;
  for (const TokenId id : ids) {
    if (!is_known(id)) {
      return Error{Code::invalid_argument,
                   concat("id ", id, " is not in the vocabulary of ", vocabulary_size())};
    }
    if (!options.skip_special || !is_special(id)) {
      bytes += token_bytes(id);
    }
  }
  std::size_t leading = 0;
  while (leading < leading_spaces() && leading < bytes.size() && bytes[leading] == ' ') {
    ++leading;
  }
  std::string text;
  append_repaired(text, std::string_view(bytes).substr(leading));
  return text;
}

std::size_t Tokenizer::vocabulary_size() const { return state_->core->tables.ends.size(); }

bool Tokenizer::is_known(TokenId id) const {
  return (state_->core->flags_of(id) & EDGE_TOKEN_KNOWN) != 0;
}

bool Tokenizer::is_special(TokenId id) const {
  return (state_->core->flags_of(id) & EDGE_TOKEN_SPECIAL) != 0;
}

std::vector<std::string> Tokenizer::special_spellings() const {
  std::vector<std::string> out;
  for (TokenId id = 0; id < static_cast<TokenId>(vocabulary_size()); ++id) {
    if (is_special(id) && !token_bytes(id).empty()) {
      out.emplace_back(token_bytes(id));
    }
  }
  return out;
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  if (!is_known(id)) {
    return {};
  }
  const edge::TokenTables& tables = state_->core->tables;
  const auto index = static_cast<std::size_t>(id);
  const std::size_t start = index == 0 ? 0 : tables.ends[index - 1];
  return std::string_view(tables.bytes).substr(start, tables.ends[index] - start);
}

std::size_t Tokenizer::leading_spaces() const { return state_->core->tables.leading_spaces; }

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
  const Result<TokenId> id = state_->core->tokenizer.id_of(token);
  return id.ok() ? std::optional(*id) : std::nullopt;
}

std::span<const TokenId> Tokenizer::begin_tokens() const { return state_->begin; }

std::optional<TokenId> Tokenizer::begin_of_sequence() const { return state_->begin_of_sequence; }

std::span<const TokenId> Tokenizer::end_tokens() const { return state_->end_tokens; }

std::span<const std::string> Tokenizer::warnings() const { return state_->warnings; }

Tokenizer Tokenizer::with_begin(std::optional<TokenId> begin, bool add) const {
  State state = *state_;
  state.begin_of_sequence = begin;
  state.begin.clear();
  if (add && begin) {
    state.begin.push_back(*begin);
  }
  return Tokenizer(std::make_shared<const State>(std::move(state)));
}

Tokenizer Tokenizer::with_end_tokens(std::vector<TokenId> end_tokens) const {
  State state = *state_;
  state.end_tokens = std::move(end_tokens);
  return Tokenizer(std::make_shared<const State>(std::move(state)));
}

}  // namespace zllm::text
