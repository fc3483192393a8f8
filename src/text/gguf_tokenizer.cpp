#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/edge/call.h>
#include <zllm/edge/tokenizer.h>
#include <zllm/text/tokenizer.h>
#include <zllm/text/tokenizer_state-inl.h>

namespace zllm::text {
namespace {

constexpr std::int64_t kTypeNormal = 1;
constexpr std::int64_t kTypeLast = 6;  // byte; 0 is "undefined" in old files
// Tokens of one vocabulary at most; the largest known has 262,144.
constexpr std::size_t kMaxTokens = std::size_t{1} << 24;

Error bad(std::string message) { return Error{Code::invalid_file, std::move(message)}; }

Result<EdgeVocabularyModel> model_of(const GgufVocabulary& vocabulary) {
  if (vocabulary.model == "gpt2") {
    return EDGE_VOCABULARY_BYTE_LEVEL;
  }
  if (vocabulary.model == "llama") {
    return EDGE_VOCABULARY_SENTENCE_PIECE;
  }
  if (vocabulary.model == "gemma4") {
    return EDGE_VOCABULARY_SPACE_MARKED;
  }
  if (vocabulary.model.empty()) {
    return bad("tokenizer.ggml.model is absent");
  }
  return Error{Code::unsupported, concat("tokenizer.ggml.model ", quote(vocabulary.model),
                                         " is not one of gpt2, llama and gemma4")};
}

Status check_counts(const GgufVocabulary& vocabulary, EdgeVocabularyModel model) {
  const std::size_t count = vocabulary.tokens.size();
  if (count == 0) {
    return bad("tokenizer.ggml.tokens is absent or empty");
  }
  if (count > kMaxTokens) {
    return bad(concat("tokenizer.ggml.tokens has ", count, " entries, more than ", kMaxTokens));
  }
  const auto same = [&](std::string_view key, std::size_t entries) -> Status {
    if (entries != 0 && entries != count) {
      return bad(concat("tokenizer.ggml.", key, " has ", entries, " entries for ", count,
                        " tokens in tokenizer.ggml.tokens"));
    }
    return {};
  };
  ZLLM_TRY(same("scores", vocabulary.scores.size()));
  ZLLM_TRY(same("token_type", vocabulary.types.size()));
  if (model == EDGE_VOCABULARY_SENTENCE_PIECE) {
    if (vocabulary.scores.empty()) {
      return bad("tokenizer.ggml.scores is absent, which tokenizer.ggml.model 'llama' needs");
    }
  } else if (vocabulary.merges.empty()) {
    return bad(concat("tokenizer.ggml.merges is absent, which tokenizer.ggml.model ",
                      quote(vocabulary.model), " needs"));
  }
  return {};
}

Result<std::string_view> pre_tokenizer_of(const GgufVocabulary& vocabulary,
                                          EdgeVocabularyModel model) {
  if (model != EDGE_VOCABULARY_BYTE_LEVEL) {
    return std::string_view();
  }
  if (vocabulary.pre_tokenizer_override) {
    return *vocabulary.pre_tokenizer_override;
  }
  if (!vocabulary.pre_tokenizer || vocabulary.pre_tokenizer->empty()) {
    return Error{Code::unsupported,
                 "tokenizer.ggml.pre is absent: this file was written before it recorded how text "
                 "is cut into words, and guessing gives wrong tokens; convert the model again or "
                 "name the pre-tokenizer"};
  }
  return *vocabulary.pre_tokenizer;
}

struct Columns {
  std::vector<EdgeSlice> tokens;
  std::vector<float> scores;
  std::vector<std::uint8_t> types;
  std::vector<EdgeSlice> merges;
};

Result<Columns> columns_of(const GgufVocabulary& vocabulary) {
  Columns columns;
  columns.tokens.reserve(vocabulary.tokens.size());
  for (const std::string_view token : vocabulary.tokens) {
    columns.tokens.push_back(edge::slice(token));
  }
  columns.scores.reserve(vocabulary.scores.size());
  for (std::size_t i = 0; i < vocabulary.scores.size(); ++i) {
    if (!std::isfinite(vocabulary.scores[i])) {
      return bad(concat("tokenizer.ggml.scores[", i, "] is not finite"));
    }
    columns.scores.push_back(static_cast<float>(vocabulary.scores[i]));
  }
  columns.types.reserve(vocabulary.tokens.size());
  for (std::size_t i = 0; i < vocabulary.types.size(); ++i) {
    const std::int64_t type = vocabulary.types[i];
    if (type < 0 || type > kTypeLast) {
      return bad(concat("tokenizer.ggml.token_type[", i, "] is ", type, ", no type of a token"));
    }
    columns.types.push_back(static_cast<std::uint8_t>(type));
  }
  columns.types.resize(vocabulary.tokens.size(), kTypeNormal);
  columns.merges.reserve(vocabulary.merges.size());
  for (const std::string_view merge : vocabulary.merges) {
    columns.merges.push_back(edge::slice(merge));
  }
  return columns;
}

// An id that text or sampling depends on must exist.
Result<std::optional<TokenId>> required_id(std::string_view key, std::optional<std::uint64_t> id,
                                           std::size_t count) {
  if (!id) {
    return std::optional<TokenId>();
  }
  if (*id >= count) {
    return bad(
        concat("tokenizer.ggml.", key, " is ", *id, ", but the vocabulary has ", count, " tokens"));
  }
  return std::optional<TokenId>(static_cast<TokenId>(*id));
}

void warn_of_ids(const GgufVocabulary& vocabulary, std::vector<std::string>& warnings) {
  const std::array<std::pair<std::string_view, std::optional<std::uint64_t>>, 3> others{
      {{"eot_token_id", vocabulary.end_of_turn},
       {"unknown_token_id", vocabulary.unknown},
       {"padding_token_id", vocabulary.padding}}};
  for (const auto& [key, id] : others) {
    if (id && *id >= vocabulary.tokens.size()) {
      warnings.push_back(
          concat("tokenizer.ggml.", key, " is ", *id, ", beyond the vocabulary, and ignored"));
    }
  }
}

// Files of these kinds want a begin token though they may not say so.
bool begins_by_default(const GgufVocabulary& vocabulary, std::string_view pre_tokenizer) {
  constexpr std::array<std::string_view, 10> kBegin{"llama-bpe", "llama3",   "llama-v3", "falcon3",
                                                    "falcon-h1", "pixtral",  "midm-2.0", "lfm2",
                                                    "tekken",    "chameleon"};
  return vocabulary.model != "gpt2" ||
         std::find(kBegin.begin(), kBegin.end(), pre_tokenizer) != kBegin.end();
}

}  // namespace

Result<Tokenizer> Tokenizer::from_gguf(const GgufVocabulary& vocabulary) {
  ZLLM_TRY(const EdgeVocabularyModel model, model_of(vocabulary));
  ZLLM_TRY(check_counts(vocabulary, model));
  const std::size_t count = vocabulary.tokens.size();
  ZLLM_TRY(const std::string_view pre_tokenizer, pre_tokenizer_of(vocabulary, model));
  ZLLM_TRY(const auto begin, required_id("bos_token_id", vocabulary.begin_of_sequence, count));
  ZLLM_TRY(const auto end, required_id("eos_token_id", vocabulary.end_of_sequence, count));
  ZLLM_TRY(const Columns columns, columns_of(vocabulary));
  const EdgeVocabulary raw{
      .tokens = columns.tokens.data(),
      .scores = columns.scores.empty() ? nullptr : columns.scores.data(),
      .types = columns.types.data(),
      .token_count = columns.tokens.size(),
      .merges = columns.merges.data(),
      .merge_count = columns.merges.size(),
      .pre_tokenizer = edge::slice(pre_tokenizer),
      .model = static_cast<std::uint32_t>(model),
      .add_space_prefix =
          vocabulary.add_space_prefix.value_or(model == EDGE_VOCABULARY_SENTENCE_PIECE) ? 1U : 0U};
  ZLLM_TRY(edge::Tokenizer tokenizer, edge::Tokenizer::from_vocabulary(raw));
  ZLLM_TRY(edge::TokenTables tables, tokenizer.tables());
  State state;
  state.core = std::make_shared<const Core>(Core{std::move(tokenizer), std::move(tables)});
  state.begin_of_sequence = begin;
  const bool add = vocabulary.add_begin.value_or(begins_by_default(vocabulary, pre_tokenizer));
  if (begin && add) {
    state.begin.push_back(*begin);
  }
  if (end) {
    state.end_tokens.push_back(*end);
  }
  if (vocabulary.end_of_turn && *vocabulary.end_of_turn < count &&
      vocabulary.end_of_turn != vocabulary.end_of_sequence) {
    state.end_tokens.push_back(static_cast<TokenId>(*vocabulary.end_of_turn));
  }
  warn_of_ids(vocabulary, state.warnings);
  if (pre_tokenizer == "default") {
    state.warnings.emplace_back(
        "tokenizer.ggml.pre is 'default': the converter did not know this tokenizer, and tokens "
        "may "
        "be wrong");
  }
  return Tokenizer(std::make_shared<const State>(std::move(state)));
}

}  // namespace zllm::text
