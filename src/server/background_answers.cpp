#include <zllm/server/background_answers.h>

#include <vector>

namespace zllm::server {

bool BackgroundAnswers::reserve(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return running_.size() < most_ && running_.emplace(id, std::weak_ptr<AnswerPump>()).second;
}

void BackgroundAnswers::set(const std::string& id, const std::shared_ptr<AnswerPump>& pump) {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(id);
  if (found != running_.end()) {
    found->second = pump;
  }
}

void BackgroundAnswers::release(const std::string& id) {
  const std::lock_guard lock(mutex_);
  running_.erase(id);
}

bool BackgroundAnswers::cancel(const std::string& id) {
  std::shared_ptr<AnswerPump> pump;
  {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(id);
    pump = found == running_.end() ? nullptr : found->second.lock();
  }
  if (pump == nullptr) {
    return false;
  }
  pump->cancel();
  return true;
}

void BackgroundAnswers::cancel_all() {
  std::vector<std::shared_ptr<AnswerPump>> pumps;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, pump] : running_) {
      pumps.push_back(pump.lock());
    }
  }
  for (const std::shared_ptr<AnswerPump>& pump : pumps) {
    if (pump != nullptr) {
      pump->cancel();
    }
  }
}

}  // namespace zllm::server
