#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <zllm/text/family/marker.h>

namespace zllm::text::family {

constexpr std::size_t kMaxHeaderBytes = 512;  // of a name with what stands around it

// Text without the white space around it.
std::string_view trimmed(std::string_view text);
// Not empty and without white space, quotes and brackets: what text behind a marker must be to be
// the name of a call.
bool is_call_name(std::string_view name);

// The text before the first of the markers, which the cursor ends up at; nothing when it is too
// long for a header or the answer ends before.
Task<std::optional<std::string>> read_header(Input *input, Markers markers);

}  // namespace zllm::text::family
