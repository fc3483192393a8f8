#include <zllm/text/family/call_grammar.h>

#include <zllm/base/text.h>

namespace zllm::text::family {

Result<std::string> call_grammar(std::string_view family, const GrammarRequest& /*request*/,
                                 const SpecialSpellings& /*special*/) {
  return Error{Code::unsupported, concat("calls of the family ", family, " have no grammar")};
}

}  // namespace zllm::text::family
