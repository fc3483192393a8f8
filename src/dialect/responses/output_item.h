#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <zllm/dialect/json_writer.h>
#include <zllm/embedded/event.h>

namespace zllm::dialect::responses {

enum class ItemKind : std::uint8_t { reasoning, message, call };

// One element of a response's output, as far as it is told.
struct OutputItem {
  ItemKind kind = ItemKind::message;
  std::string id = {};
  std::string_view status = "in_progress";
  std::string text = {};     // of a call its arguments
  std::string scored = {};   // JSON texts of the message's tokens, with commas between
  std::string call_id = {};  // as the engine made it
  std::string name = {};     // of the tool
  std::uint32_t call = 0;    // of the choice
  bool has_content = false;  // its content part was begun
};

// "rs_", "msg_" or "fc_": what ids of such items begin with.
std::string_view id_prefix(ItemKind kind);

void write_item(JsonWriter& json, const OutputItem& item);
// The content part of reasoning or a message, with this much of its text.
void write_part(JsonWriter& json, const OutputItem& item, std::string_view text,
                std::string_view scored);

}  // namespace zllm::dialect::responses
