#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <zllm/text/family/call_syntax.h>

namespace zllm::text::family {

struct Section {
  std::string_view begin;
  std::string_view end;
};

// Where calls stand: [section.begin] (call_begin CALL [call_end])* [section.end], white space
// between.
struct CallFrame {
  std::vector<Section> sections = {};
  std::string_view call_begin;
  std::string_view call_end = {};
  std::vector<std::string_view> within = {};  // other markers in calls
  bool ids_follow = false;                    // JSON calls have their ids behind the arguments
};

// The parser of such calls. Models of every family also write JSON calls behind the first marker.
class SectionCalls : public CallSyntax {
 public:
  Markers begins() const final { return begins_; }
  Markers inner() const final { return inner_; }
  Task<bool> read(CallContext context, std::size_t begin) const final;

 protected:
  enum class Outcome : std::uint8_t { none, broken, whole };

  explicit SectionCalls(CallFrame frame);

  // The cursor is behind call_begin. None: nothing went out. Whole: read up to and with call_end.
  virtual Task<Outcome> read_call(CallContext context) const = 0;
  // Reads over the end of a section, if one is next.
  Task<bool> take_section_end(Input *input) const;

  const CallFrame& frame() const { return frame_; }

 private:
  CallFrame frame_;
  std::vector<std::string_view> begins_;  // of sections, then of calls
  std::vector<std::string_view> inner_;
};

}  // namespace zllm::text::family
