#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <zllm/base/strong.h>
#include <zllm/embedded/failure.h>

namespace zllm {

struct ScoredToken {
  TokenId token = 0;
  std::string bytes;                  // what it stands for, not always whole characters
  double log_probability = 0;         // NaN: none, as of the first token of an echoed prompt
  std::vector<ScoredToken> top = {};  // alternatives, likelier first
  bool is_content = false;            // a part of it is of the event's content
};

// Before any delta.
struct Started {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;
};
struct ContentDelta {
  std::string text;
};
struct ReasoningDelta {
  std::string text;
};
struct CallStarted {
  std::uint32_t call = 0;  // 0, 1, ... within the choice
  std::string id;          // unique
  std::string name;
};
// All deltas of a call together are the JSON text of its arguments.
struct CallDelta {
  std::uint32_t call = 0;
  std::string arguments;
};
struct CallFinished {
  std::uint32_t call = 0;
  bool is_cut = false;  // the answer ended in it
};

enum class StopReason : std::uint8_t {
  end,        // the model ended it
  stop,       // a stop string or stop token of the request
  length,     // max_tokens or the context
  calls,      // it ends with tool calls
  cancelled,  // as asked
};
struct ChoiceEnded {
  StopReason reason = StopReason::end;
  std::string stop_string = {};  // that was found
  bool is_context_full = false;  // length: the context, not max_tokens
  std::uint64_t tokens = 0;      // of this choice
};

struct Usage {
  std::uint64_t prompt_tokens = 0;
  std::uint64_t cached_tokens = 0;      // of them, not computed again
  std::uint64_t completion_tokens = 0;  // of all choices and candidates
  std::uint64_t reasoning_tokens = 0;   // of them
};
struct AnswerTimings {
  double queue_seconds = 0;
  double prefill_seconds = 0;
  double decode_seconds = 0;
};
// The last event, and the only one that can come without Started.
struct Ended {
  Usage usage;
  AnswerTimings timings;
  std::optional<Failure> failure = {};
};

struct Event {
  std::uint32_t choice = 0;
  // Tokens of this choice that no event before has told, where log-probabilities are asked: those
  // of the event's text, after those of markers before it. A token whose text is held back comes
  // later.
  std::vector<ScoredToken> scored = {};
  std::variant<Started, ContentDelta, ReasoningDelta, CallStarted, CallDelta, CallFinished,
               ChoiceEnded, Ended>
      what;
};

}  // namespace zllm
