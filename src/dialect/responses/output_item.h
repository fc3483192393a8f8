#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <zllm/dialect/json_writer.h>
#include <zllm/embedded/event.h>

namespace zllm::dialect::responses {

enum class ItemKind : std::uint8_t { reasoning, message, call, custom_call };

// One element of a response's output, as far as it is told.
struct OutputItem {
  ItemKind kind = ItemKind::message;
  std::string id = {};
  std::string_view status = "in_progress";
  std::string text = {};       // of a call its arguments, of a custom one its input
  std::string scored = {};     // JSON texts of the message's tokens, with commas between
  std::string call_id = {};    // as the engine made it
  std::string name = {};       // of the tool
  std::string arguments = {};  // of a custom call, as the model wrote them
  std::string packed = {};     // of reasoning, where it was asked for
  std::uint32_t call = 0;      // of the choice
  bool has_content = false;    // its content part was begun
};

bool is_call(ItemKind kind);
// "rs_", "msg_", "fc_" or "ctc_": what ids of such items begin with.
std::string_view id_prefix(ItemKind kind);

void write_item(JsonWriter& json, const OutputItem& item);
// The content part of reasoning or a message, with this much of its text.
void write_part(JsonWriter& json, const OutputItem& item, std::string_view text,
                std::string_view scored);

}  // namespace zllm::dialect::responses
