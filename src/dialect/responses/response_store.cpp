#include <zllm/dialect/responses/response_store.h>

#include <iterator>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::dialect::responses {
namespace {

// What an entry costs beside its texts: list node, map node and the like, rounded up.
constexpr std::size_t kEntryBytes = 512;
constexpr std::size_t kTextBytes = sizeof(std::string);

// The length in front keeps ("a", "bc") apart from ("ab", "c").
std::string key_of(const std::string& caller, const std::string& id) {
  return concat(caller.size(), ":", caller, id);
}

std::size_t bytes_of(const Message& message) {
  std::size_t bytes = sizeof(Message) + message.content.value_or("").size() +
                      message.reasoning.size() + message.tool_call_id.size() + message.name.size();
  for (const ToolCall& call : message.tool_calls) {
    bytes += sizeof(ToolCall) + call.id.size() + call.name.size() + call.arguments.size();
  }
  return bytes;
}

std::size_t bytes_of(const std::string& key, const StoredResponse& response) {
  std::size_t bytes = kEntryBytes + 2 * key.size() + response.body.size();
  for (const std::string& item : response.input_items) {
    bytes += kTextBytes + item.size();
  }
  for (const Message& message : response.conversation) {
    bytes += bytes_of(message);
  }
  return bytes + (response.events == nullptr ? 0 : response.events->bytes());
}

}  // namespace

void ResponseStore::put(const std::string& caller, const std::string& id, StoredResponse response) {
  Entry entry{key_of(caller, id), std::move(response)};
  entry.bytes = bytes_of(entry.key, entry.response);
  const std::scoped_lock lock(mutex_);
  insert(std::move(entry));
}

bool ResponseStore::replace(const std::string& caller, const std::string& id,
                            StoredResponse response) {
  Entry entry{key_of(caller, id), std::move(response)};
  entry.bytes = bytes_of(entry.key, entry.response);
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(entry.key);
  if (found == by_key_.end()) {
    return false;
  }
  const StoredResponse& old = found->second->response;
  if (old.is_final && !(old.is_cancelled && entry.response.is_cancelled)) {
    return false;
  }
  insert(std::move(entry));
  return true;
}

std::optional<StoredResponse> ResponseStore::get(const std::string& caller,
                                                 const std::string& id) const {
  const std::string key = key_of(caller, id);
  const std::scoped_lock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    return std::nullopt;
  }
  return found->second->response;
}

bool ResponseStore::erase(const std::string& caller, const std::string& id) {
  const std::string key = key_of(caller, id);
  const std::scoped_lock lock(mutex_);
  return remove(key);
}

std::size_t ResponseStore::count() const {
  const std::scoped_lock lock(mutex_);
  return entries_.size();
}

std::size_t ResponseStore::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

void ResponseStore::insert(Entry entry) {
  remove(entry.key);
  bytes_ += entry.bytes;
  entries_.push_back(std::move(entry));
  by_key_.emplace(entries_.back().key, std::prev(entries_.end()));
  shrink();
}

bool ResponseStore::remove(const std::string& key) {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) {
    return false;
  }
  bytes_ -= found->second->bytes;
  entries_.erase(found->second);
  by_key_.erase(found);
  return true;
}

void ResponseStore::shrink() {
  while (!entries_.empty() && (entries_.size() > limits_.responses || bytes_ > limits_.bytes)) {
    const std::string oldest = entries_.front().key;
    remove(oldest);
  }
}

}  // namespace zllm::dialect::responses
