#pragma once

#include <string>
#include <string_view>

#include <zllm/base/result.h>
#include <zllm/text/family/family.h>

namespace zllm::text::family {

// Family::grammar of the family of that name.
Result<std::string> call_grammar(std::string_view family, const GrammarRequest& request,
                                 const SpecialSpellings& special);

}  // namespace zllm::text::family
