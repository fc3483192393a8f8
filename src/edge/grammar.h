#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <zllm/base/result.h>
#include <zllm/base/strong.h>
#include <zllm/edge/edge.h>
#include <zllm/edge/tokenizer.h>

namespace zllm::edge {

// A vocabulary made ready for grammars, once per model. Thread-safe; movable. Grammars
// keep what they need of it.
class GrammarVocabulary {
 public:
  // Refuses an end of sequence that is not in the tables.
  static Result<GrammarVocabulary> create(const TokenTables& tables, TokenId end_of_sequence);

  // Whether some token of text is longer than these bytes and begins with them.
  Result<bool> extends(std::string_view bytes) const;

 private:
  friend class Grammar;
  struct Free {
    void operator()(EdgeGrammarVocabulary *raw) const;
  };
  explicit GrammarVocabulary(EdgeGrammarVocabulary *raw) : raw_(raw) {}
  std::unique_ptr<EdgeGrammarVocabulary, Free> raw_;
};

enum class GrammarKind { json_schema, regex, lark };

// How far one text has come in a grammar. For one thread at a time; movable.
class Grammar {
 public:
  // Refuses sources that do not parse, use what is not supported or are too large to compile.
  static Result<Grammar> compile(const GrammarVocabulary& vocabulary, GrammarKind kind,
                                 std::string_view source);

  // Goes on from the same place, apart.
  Result<Grammar> clone() const;

  // Bit i % 32 of word i / 32 says whether id i may come next; the end of sequence may where the
  // text may end.
  Result<std::vector<std::uint32_t>> mask();
  // Goes on by a token. One that may not come next is refused and changes nothing.
  Status consume(TokenId token);
  Status rollback(std::uint32_t tokens);
  // The only bytes that may come next, as far as there is one way on.
  Result<std::string> forced_bytes();
  // Whether the text may end here.
  Result<bool> accepts();
  // Whether the text cannot go on.
  Result<bool> stopped();

 private:
  struct Free {
    void operator()(EdgeGrammar *raw) const;
  };
  struct State {
    bool accepting;
    bool stopped;
  };
  explicit Grammar(EdgeGrammar *raw) : raw_(raw) {}
  Result<State> state();
  std::unique_ptr<EdgeGrammar, Free> raw_;
};

}  // namespace zllm::edge
