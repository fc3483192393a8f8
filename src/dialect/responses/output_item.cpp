#include <zllm/dialect/responses/output_item.h>

#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect::responses {

bool is_call(ItemKind kind) { return kind == ItemKind::call || kind == ItemKind::custom_call; }

std::string_view id_prefix(ItemKind kind) {
  switch (kind) {
    case ItemKind::reasoning:
      return "rs_";
    case ItemKind::message:
      return "msg_";
    case ItemKind::call:
      return "fc_";
    case ItemKind::custom_call:
      return "ctc_";
  }
  return "";
}

void write_item(JsonWriter& json, const OutputItem& item) {
  json.begin_object().text("id", item.id);
  switch (item.kind) {
    case ItemKind::reasoning:
      json.text("type", "reasoning").raw("summary", "[]");
      break;
    case ItemKind::message:
      json.text("type", "message").text("role", "assistant");
      break;
    case ItemKind::call:
      json.text("type", "function_call").text("call_id", item.call_id).text("name", item.name);
      json.text("arguments", item.text);
      break;
    case ItemKind::custom_call:
      json.text("type", "custom_tool_call").text("call_id", item.call_id).text("name", item.name);
      json.text("input", item.text);
      break;
  }
  json.text("status", item.status);
  if (!is_call(item.kind)) {
    json.begin_array("content");
    if (item.has_content) {
      write_part(json, item, item.text, item.scored);
    }
    json.end_array();
  }
  if (item.kind == ItemKind::reasoning) {
    item.packed.empty() ? json.null("encrypted_content")
                        : json.text("encrypted_content", item.packed);
  }
  json.end_object();
}

void write_part(JsonWriter& json, const OutputItem& item, std::string_view text,
                std::string_view scored) {
  json.begin_object();
  if (item.kind == ItemKind::reasoning) {
    json.text("type", "reasoning_text").text("text", text);
  } else {
    json.text("type", "output_text").text("text", text).raw("annotations", "[]");
    json.raw("logprobs", concat("[", scored, "]"));
  }
  json.end_object();
}

}  // namespace zllm::dialect::responses
