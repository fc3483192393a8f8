#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <zllm/server/answer_pump.h>

namespace zllm::server {

// Answers that run without a client, by the id of their response. Thread-safe.
class BackgroundAnswers {
 public:
  explicit BackgroundAnswers(std::size_t most) : most_(most) {}

  // False when too many run already.
  bool reserve(const std::string& id);
  void set(const std::string& id, const std::shared_ptr<AnswerPump>& pump);
  void release(const std::string& id);
  // False when no answer of that id runs.
  bool cancel(const std::string& id);
  void cancel_all();

 private:
  std::size_t most_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<AnswerPump>> running_;
};

}  // namespace zllm::server
