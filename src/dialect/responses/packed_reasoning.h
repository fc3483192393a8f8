#pragma once

#include <optional>
#include <string>
#include <string_view>

// "encrypted_content": reasoning for clients that keep what they are told and send it back. Nothing
// of it is secret here, where reasoning is told beside it; it only carries the text.
namespace zllm::dialect::responses {

std::string pack_reasoning(std::string_view text);
// Nothing where no server of this kind packed it.
std::optional<std::string> unpack_reasoning(std::string_view packed);

}  // namespace zllm::dialect::responses
