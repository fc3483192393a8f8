#pragma once

#include <string>
#include <string_view>

// Server-sent events: the media type text/event-stream of the HTML standard, section 9.2.
namespace zllm::server::http {

inline constexpr std::string_view kEventStreamType = "text/event-stream; charset=utf-8";

// One event. Each line of the data becomes a line of its own; an empty name is left out. A name
// ends at its first line break.
std::string frame_event(std::string_view name, std::string_view data);

}  // namespace zllm::server::http
