#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <zllm/text/family/call_syntax.h>

namespace zllm::text::family {

struct CallHeader {
  std::string name = {};  // empty: no header of a call
  std::string id = {};
};

// Calls as a header and a JSON object: [section_begin] (call_begin HEADER OBJECT [call_end])*
// [section_end]. White space, and code fences around the object, may stand between.
struct HeaderSyntax {
  std::string_view section_begin = {};
  std::string_view section_end = {};
  std::string_view call_begin;
  std::string_view call_end = {};
  CallHeader (*header)(std::string_view text) = nullptr;  // of all text up to the opening brace
  std::vector<std::string_view> within = {};              // markers in headers
  bool has_arrays = false;  // call_begin may be followed by a JSON array of calls with ids
};

class HeaderCalls final : public CallSyntax {
 public:
  explicit HeaderCalls(HeaderSyntax syntax);

  Markers begins() const override { return begins_; }
  Markers inner() const override { return inner_; }
  Task<bool> read(CallContext context, std::size_t begin) const override;

 private:
  Task<bool> read_call(CallContext context) const;

  HeaderSyntax syntax_;
  std::vector<std::string_view> begins_;
  std::vector<std::string_view> inner_;
};

}  // namespace zllm::text::family
