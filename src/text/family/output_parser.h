#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace zllm::text::family {

struct Content {
  std::string text;
};
struct Reasoning {
  std::string text;   // may be empty where it ends
  bool ends = false;  // what comes after is counted as the answer
};
struct CallBegin {
  std::uint32_t call = 0;  // 0, 1, ... within the answer
  std::string name;
  std::string id = {};  // where the model writes one itself; empty = the caller makes one
};
// A piece of the call's arguments. All pieces of a call together are one JSON object.
struct CallArguments {
  std::uint32_t call = 0;
  std::string json;
};
struct CallEnd {
  std::uint32_t call = 0;
};
using Piece = std::variant<Content, Reasoning, CallBegin, CallArguments, CallEnd>;

// Why an answer ended.
enum class Ending : std::uint8_t {
  complete,  // the model was done
  cut,       // length, a stop string, cancelled
};

// Takes an answer apart while it comes, whatever the borders of the pieces: text that cannot be
// part of a marker any more goes out at once, no text is lost, and nothing throws or fails. Broken
// calls become content as the model wrote them; what is found broken after arguments went out ends
// the call, and the rest becomes content. White space around calls and newlines around reasoning
// belong to the markers. Every CallBegin gets its CallEnd.
class OutputParser {
 public:
  virtual ~OutputParser() = default;
  // Valid UTF-8 that the answer goes on with. is_special: the spelling of one control token; those
  // that mean nothing to the family are dropped.
  virtual void add(std::string_view text, bool is_special, std::vector<Piece>& out) = 0;
  // The end of the answer. Open arguments are closed so that they are valid JSON only where the
  // model had finished them; else what came so far stays. When the prompt had opened reasoning and
  // a complete answer never closed it, the model has answered at once: its text, which went out as
  // reasoning, is taken again as an answer without reasoning, so that content or calls hold it too.
  virtual void finish(std::vector<Piece>& out, Ending ending) = 0;
  void finish(std::vector<Piece>& out) { finish(out, Ending::complete); }
};

}  // namespace zllm::text::family
