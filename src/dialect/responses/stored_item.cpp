#include <zllm/dialect/responses/stored_item.h>

#include <zllm/base/text.h>

namespace zllm::dialect::responses {
namespace {

bool has_id(const Json& item, const std::string& id) {
  const Json *own = item.find("id");
  return own != nullptr && own->as_string() != nullptr && *own->as_string() == id;
}

}  // namespace

std::optional<Json> find_item(const ResponseStore& store, const std::string& caller,
                              const std::string& id) {
  const std::size_t first = id.find('_');
  const std::size_t last = id.rfind('_');
  if (first == std::string::npos || last == first) {
    return std::nullopt;
  }
  const auto response = store.get(caller, concat("resp_", id.substr(first + 1, last - first - 1)));
  if (!response.has_value()) {
    return std::nullopt;
  }
  for (const std::string& text : response->input_items) {
    auto item = Json::parse(text, "item");
    if (item.ok() && has_id(*item, id)) {
      return std::move(item).value();
    }
  }
  const auto body = Json::parse(response->body, "response");
  const Json *output = body.ok() ? body->find("output") : nullptr;
  if (output == nullptr || output->as_array() == nullptr) {
    return std::nullopt;
  }
  for (const Json& item : *output->as_array()) {
    if (has_id(item, id)) {
      return item;
    }
  }
  return std::nullopt;
}

}  // namespace zllm::dialect::responses
