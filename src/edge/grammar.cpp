#include <zllm/edge/grammar.h>

#include <zllm/edge/call.h>

namespace zllm::edge {
namespace {

std::string_view name(GrammarKind kind) {
  switch (kind) {
    case GrammarKind::json_schema:
      return "json_schema";
    case GrammarKind::regex:
      return "regex";
    case GrammarKind::lark:
      break;
  }
  return "lark";
}

}  // namespace

void GrammarVocabulary::Free::operator()(EdgeGrammarVocabulary *raw) const {
  edge_grammar_vocabulary_free(raw);
}

void Grammar::Free::operator()(EdgeGrammar *raw) const { edge_grammar_free(raw); }

Result<GrammarVocabulary> GrammarVocabulary::create(const TokenTables& tables,
                                                    TokenId end_of_sequence) {
  EdgeGrammarVocabulary *raw = nullptr;
  if (end_of_sequence < 0 || tables.ends.size() != tables.flags.size()) {
    return Error{Code::invalid_argument, "no vocabulary for grammars without an end of sequence"};
  }
  ZLLM_TRY(call(edge_grammar_vocabulary_new, slice(tables.bytes), tables.ends.data(),
                slice(tables.flags), static_cast<std::uint32_t>(end_of_sequence), &raw));
  return GrammarVocabulary(raw);
}

Result<Grammar> Grammar::compile(const GrammarVocabulary& vocabulary, GrammarKind kind,
                                 std::string_view source) {
  EdgeGrammar *raw = nullptr;
  ZLLM_TRY(call(edge_grammar_new, vocabulary.raw_.get(), slice(name(kind)), slice(source), &raw));
  return Grammar(raw);
}

Result<bool> GrammarVocabulary::extends(std::string_view bytes) const {
  std::uint32_t extends = 0;
  ZLLM_TRY(call(edge_grammar_vocabulary_extends, raw_.get(), slice(bytes), &extends));
  return extends != 0;
}

Result<Grammar> Grammar::clone() const {
  EdgeGrammar *raw = nullptr;
  ZLLM_TRY(call(edge_grammar_clone, raw_.get(), &raw));
  return Grammar(raw);
}

Result<std::vector<std::uint32_t>> Grammar::mask() {
  Words words;
  ZLLM_TRY(call(edge_grammar_mask, raw_.get(), words.out()));
  return std::vector<std::uint32_t>(words.begin(), words.end());
}

Status Grammar::consume(TokenId token) {
  return call(edge_grammar_consume, raw_.get(), static_cast<std::uint32_t>(token));
}

Status Grammar::rollback(std::uint32_t tokens) {
  return call(edge_grammar_rollback, raw_.get(), tokens);
}

Result<std::string> Grammar::forced_bytes() {
  Bytes bytes;
  ZLLM_TRY(call(edge_grammar_forced, raw_.get(), bytes.out()));
  return std::string(bytes.view());
}

Result<bool> Grammar::accepts() {
  ZLLM_TRY(const State now, state());
  return now.accepting;
}

Result<bool> Grammar::stopped() {
  ZLLM_TRY(const State now, state());
  return now.stopped;
}

Result<Grammar::State> Grammar::state() {
  std::uint32_t accepting = 0;
  std::uint32_t stopped = 0;
  ZLLM_TRY(call(edge_grammar_state, raw_.get(), &accepting, &stopped));
  return State{accepting != 0, stopped != 0};
}

}  // namespace zllm::edge
