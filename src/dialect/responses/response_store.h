#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <zllm/dialect/responses/event_log.h>
#include <zllm/embedded/failure.h>
#include <zllm/embedded/message.h>

namespace zllm::dialect::responses {

// A response as it is kept: JSON texts, and the conversation that another goes on from.
struct StoredResponse {
  std::string body;                           // the response object
  std::vector<std::string> input_items = {};  // JSON texts, oldest first
  std::vector<Message> conversation = {};     // all turns up to and with this answer
  bool is_final = false;                      // completed, incomplete, failed or cancelled
  bool is_cancelled = false;                  // one of the final ones
  bool is_background = false;                 // runs without its client, so it can be cancelled
  std::shared_ptr<EventLog> events = {};      // where its stream can be read again
};

struct StoreLimits {
  std::size_t responses = 4096;
  std::size_t bytes = std::size_t{256} << 20;  // of all; the oldest go first
};

// Responses of all callers; one caller never sees another's. Thread-safe.
class ResponseStore {
 public:
  explicit ResponseStore(StoreLimits limits) : limits_(limits) {}

  // Adds or replaces. What makes the store larger than its limits pushes the oldest out.
  void put(const std::string& caller, const std::string& id, StoredResponse response);
  // Replaces what is there; false when nothing is, as after an erase, or when that has ended. What
  // was cancelled may still be replaced by what it had come to when it was.
  bool replace(const std::string& caller, const std::string& id, StoredResponse response);
  std::optional<StoredResponse> get(const std::string& caller, const std::string& id) const;
  bool erase(const std::string& caller, const std::string& id);

  std::size_t count() const;
  std::size_t bytes() const;

 private:
  struct Entry {
    std::string key;
    StoredResponse response;
    std::size_t bytes = 0;
  };
  // Under the mutex.
  void insert(Entry entry);
  bool remove(const std::string& key);
  void shrink();

  StoreLimits limits_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // oldest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
  std::size_t bytes_ = 0;
};

}  // namespace zllm::dialect::responses
