#include <zllm/edge/tokenizer.h>

#include <zllm/edge/call.h>

namespace zllm::edge {
namespace {

std::vector<TokenId> to_ids(const Words& words) {
  std::vector<TokenId> ids;
  for (const std::uint32_t word : words) {
    ids.push_back(static_cast<TokenId>(word));
  }
  return ids;
}

}  // namespace

void Tokenizer::Free::operator()(EdgeTokenizer *tokenizer) const { edge_tokenizer_free(tokenizer); }

Result<Tokenizer> Tokenizer::from_json(std::string_view json) {
  EdgeTokenizer *raw = nullptr;
  ZLLM_TRY(call(edge_tokenizer_from_json, slice(json), &raw));
  return Tokenizer(raw);
}

Result<Tokenizer> Tokenizer::from_vocabulary(const EdgeVocabulary& vocabulary) {
  EdgeTokenizer *raw = nullptr;
  ZLLM_TRY(call(edge_tokenizer_from_vocabulary, &vocabulary, &raw));
  return Tokenizer(raw);
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, bool parse_special,
                                               std::string_view mark) const {
  Words ids;
  const std::uint32_t parse = parse_special ? 1 : 0;
  ZLLM_TRY(call(edge_tokenizer_encode, raw_.get(), slice(text), parse, slice(mark), ids.out()));
  return to_ids(ids);
}

Result<TokenId> Tokenizer::id_of(std::string_view token) const {
  std::uint32_t id = 0;
  ZLLM_TRY(call(edge_tokenizer_id_of, raw_.get(), slice(token), &id));
  return static_cast<TokenId>(id);
}

Result<std::vector<TokenId>> Tokenizer::begin_tokens() const {
  Words ids;
  ZLLM_TRY(call(edge_tokenizer_begin, raw_.get(), ids.out()));
  return to_ids(ids);
}

Result<TokenTables> Tokenizer::tables() const {
  Bytes bytes;
  Words ends;
  Bytes flags;
  TokenTables tables;
  ZLLM_TRY(call(edge_tokenizer_tables, raw_.get(), bytes.out(), ends.out(), flags.out(),
                &tables.leading_spaces));
  tables.bytes = bytes.view();
  tables.ends.assign(ends.begin(), ends.end());
  tables.flags = flags.view();
  return tables;
}

}  // namespace zllm::edge
