#include "chat_history.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <utility>

#include <zllm/base/json.h>
#include <zllm/base/text.h>
#include <zllm/base/text_file.h>

namespace zllm::cli {
namespace {

// What a conversation on the terminal is made of.
constexpr std::array<std::pair<Role, std::string_view>, 3> kRoles = {
    {{Role::system, "system"}, {Role::user, "user"}, {Role::assistant, "assistant"}}};

Result<Message> to_message(const Json& json, const std::string& where) {
  const Json *role = json.find("role");
  const Json *content = json.find("content");
  if (role == nullptr || role->as_string() == nullptr || content == nullptr ||
      content->as_string() == nullptr) {
    return Error{Code::invalid_argument, concat(where, ": role and content must be strings")};
  }
  for (const auto& [known, name] : kRoles) {
    if (*role->as_string() == name) {
      return Message{.role = known, .content = *content->as_string()};
    }
  }
  return Error{Code::invalid_argument,
               concat(where, ": role ", quote(*role->as_string()), " is not expected here")};
}

}  // namespace

Status save_history(const std::string& path, const std::vector<Message>& messages) {
  Json::Array list;
  for (const Message& message : messages) {
    const auto role = std::ranges::find(kRoles, message.role, &decltype(kRoles)::value_type::first);
    list.push_back(Json(Json::Object{{"role", Json(std::string(role->second))},
                                     {"content", Json(message.content.value_or(""))}}));
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
    if (message.role == Role::system && !messages.empty()) {
      return Error{Code::invalid_argument, concat(where, ": role \"system\" is not expected here")};
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

}  // namespace zllm::cli
