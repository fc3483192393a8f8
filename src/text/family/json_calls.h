#pragma once

#include <string_view>

#include <zllm/text/family/call_syntax.h>

namespace zllm::text::family {

// Calls as JSON objects {"name": .., "arguments" or "parameters": {..}}, one, several in a row or
// in an array.
struct JsonCallRules {
  std::string_view end = {};     // the marker behind the calls; may be missing in the text
  bool only_known = false;       // only tools of the request, and only with arguments
  bool holds_arguments = false;  // an id may come behind the arguments: they wait for it
};

// The cursor is before the calls, white space in front. False where none is there and nothing went
// out.
Task<bool> read_json_calls(CallContext context, JsonCallRules rules);

// Gives the JSON object that is next as the arguments of the open call, while it comes, and ends
// the call. False where it broke or the answer ended before it did.
Task<bool> read_arguments(CallContext context);

}  // namespace zllm::text::family
