#include <zllm/text/family/text_family.h>

#include <zllm/text/family/call_grammar.h>

namespace zllm::text::family {

std::unique_ptr<OutputParser> TextFamily::parser(const ParserOptions& options) const {
  return std::make_unique<AnswerParser>(syntax_, options);
}

Result<std::string> TextFamily::grammar(const GrammarRequest& request,
                                        const SpecialSpellings& special) const {
  return call_grammar(name_, request, special);
}

}  // namespace zllm::text::family
