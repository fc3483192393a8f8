#include "chat_history.h"

#include <cstdio>
#include <fstream>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/base/text_file.h>

namespace zllm::cli {
namespace {

Result<Message> to_message(const Json& json, const std::string& where) {
  const Json *role = json.find("role");
  const Json *content = json.find("content");
  if (role == nullptr || role->as_string() == nullptr || content == nullptr ||
      content->as_string() == nullptr) {
    return Error{Code::invalid_argument, concat(where, ": role and content must be strings")};
  }
  return Message{.role = *role->as_string(), .content = *content->as_string()};
}

}  // namespace

Status save_history(const std::string& path, const std::vector<Message>& messages) {
  Json::Array list;
  for (const Message& message : messages) {
    list.push_back(
        Json(Json::Object{{"role", Json(message.role)}, {"content", Json(message.content)}}));
  }
  const std::string part = path + ".part";
  {
    std::ofstream file(part, std::ios::trunc);
    file << Json(Json::Object{{"messages", Json(std::move(list))}}).dump() << "\n" << std::flush;
    if (!file) {
      std::remove(part.c_str());
      return Error{Code::io, concat(path, ": cannot be written")};
    }
  }
  if (std::rename(part.c_str(), path.c_str()) != 0) {
    std::remove(part.c_str());
    return Error{Code::io, concat(path, ": cannot be written")};
  }
  return {};
}

Result<std::vector<Message>> load_history(const std::string& path) {
  ZLLM_TRY(const std::string text, read_text_file(path));
  ZLLM_TRY(const Json json, Json::parse(text, path));
  const Json *list = json.find("messages");
  if (list == nullptr || list->as_array() == nullptr) {
    return Error{Code::invalid_argument, concat(path, ": messages must be an array")};
  }
  std::vector<Message> messages;
  for (const Json& item : *list->as_array()) {
    const std::string where = concat(path, ": message ", messages.size());
    ZLLM_TRY(Message message, to_message(item, where));
    const bool is_known = message.role == "user" || message.role == "assistant" ||
                          (message.role == "system" && messages.empty());
    if (!is_known) {
      return Error{Code::invalid_argument,
                   concat(where, ": role ", quote(message.role), " is not expected here")};
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace zllm::cli
