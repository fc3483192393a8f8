#include <zllm/text/family/call_syntax.h>

namespace zllm::text::family {

Task<bool> CallSyntax::read_bare(CallContext /*context*/) const { co_return false; }

}  // namespace zllm::text::family
