#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <zllm/text/family/section_calls.h>

namespace zllm::text::family {

struct CallHeader {
  std::string name = {};  // empty: no header of a call
  std::string id = {};
};

// Calls as a header and a JSON object: call_begin HEADER OBJECT [call_end]. Code fences may stand
// around the object, and nothing at all for an empty one.
class HeaderCalls final : public SectionCalls {
 public:
  // Of all text up to the opening brace.
  using ReadHeader = CallHeader (*)(std::string_view text);

  HeaderCalls(CallFrame frame, ReadHeader header);

 private:
  Task<Outcome> read_call(CallContext context) const override;

  ReadHeader header_;
  std::vector<std::string_view> header_ends_;
};

}  // namespace zllm::text::family
