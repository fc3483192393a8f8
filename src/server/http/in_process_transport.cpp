#include <zllm/server/http/in_process_transport.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <utility>

#include <zllm/base/text.h>

namespace zllm::server::http {

struct InProcessExchange::State {
  explicit State(std::size_t limit) : buffer_bytes(limit) {}

  mutable std::mutex mutex;
  std::condition_variable changed;
  int status = 0;
  Headers headers;
  std::deque<std::string> pieces;
  std::size_t pending = 0;
  const std::size_t buffer_bytes;
  bool was_over = false;
  End end = End::open;

  // Held during a call, so that none runs on once the notifier is replaced. A notifier may replace
  // itself.
  std::recursive_mutex notifier_mutex;
  std::shared_ptr<std::function<void()>> notifier;

  void notify() {
    const std::lock_guard lock(notifier_mutex);
    if (const auto current = notifier; current != nullptr) {
      (*current)();
    }
  }

  // Whether this ended it.
  bool close(End as) {
    const std::lock_guard lock(mutex);
    if (end != End::open) {
      return false;
    }
    end = as;
    if (as != End::finished) {
      pieces.clear();
      pending = 0;
    }
    changed.notify_all();
    return true;
  }

  void cut(End as) {
    if (close(as)) {
      notify();
    }
  }

  void begin(int with_status, Headers with_headers) {
    const std::lock_guard lock(mutex);
    if (end == End::open && status == 0) {
      status = with_status;
      headers = std::move(with_headers);
      changed.notify_all();
    }
  }

  bool push(std::string piece) {
    const std::lock_guard lock(mutex);
    if (end != End::open || status == 0) {
      return false;
    }
    if (!piece.empty()) {
      pending += piece.size();
      was_over = was_over || pending > buffer_bytes;
      pieces.push_back(std::move(piece));
      changed.notify_all();
    }
    return true;
  }

  // The next piece, if there is one; tells the server when that makes room.
  std::optional<std::string> take(std::unique_lock<std::mutex> lock) {
    if (pieces.empty()) {
      return std::nullopt;
    }
    std::string piece = std::move(pieces.front());
    pieces.pop_front();
    pending -= piece.size();
    const bool falls_under = was_over && pending < (buffer_bytes + 1) / 2;
    was_over = was_over && !falls_under;
    lock.unlock();
    if (falls_under) {
      notify();
    }
    return piece;
  }
};

class InProcessExchange::Writer final : public ResponseWriter {
 public:
  explicit Writer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() override {
    set_notifier(nullptr);
    state_->close(End::reset);
  }

  void respond(int status, Headers headers, std::string body) override {
    state_->begin(status, std::move(headers));
    state_->push(std::move(body));
    finish();
  }
  void start(int status, Headers headers) override { state_->begin(status, std::move(headers)); }
  bool write(std::string piece) override { return state_->push(std::move(piece)); }
  void finish() override { state_->close(End::finished); }
  void reset() override { state_->close(End::reset); }
  std::size_t pending() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->pending;
  }
  bool is_gone() const override {
    const std::lock_guard lock(state_->mutex);
    return state_->end == End::left || state_->end == End::reset;
  }
  void set_notifier(std::function<void()> notifier) override {
    std::shared_ptr<std::function<void()>> next;
    if (notifier != nullptr) {
      next = std::make_shared<std::function<void()>>(std::move(notifier));
    }
    const bool is_set = next != nullptr;
    {
      const std::lock_guard lock(state_->notifier_mutex);
      state_->notifier = std::move(next);
    }
    if (is_set && is_gone()) {
      state_->notify();
    }
  }

 private:
  std::shared_ptr<State> state_;
};

InProcessExchange::InProcessExchange(std::size_t buffer_bytes)
    : state_(std::make_shared<State>(buffer_bytes)) {}

InProcessExchange::~InProcessExchange() { leave(); }

int InProcessExchange::status() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->status != 0 || state_->end != End::open; });
  return state_->status;
}

Headers InProcessExchange::headers() {
  static_cast<void>(status());
  const std::lock_guard lock(state_->mutex);
  return state_->headers;
}

std::optional<std::string> InProcessExchange::read() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return !state_->pieces.empty() || state_->end != End::open; });
  return state_->take(std::move(lock));
}

std::optional<std::string> InProcessExchange::try_read() {
  return state_->take(std::unique_lock(state_->mutex));
}

std::string InProcessExchange::read_all() {
  std::string all;
  while (const auto piece = read()) {
    all += *piece;
  }
  return all;
}

InProcessExchange::End InProcessExchange::wait() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->end != End::open; });
  return state_->end;
}

InProcessExchange::End InProcessExchange::end() const {
  const std::lock_guard lock(state_->mutex);
  return state_->end;
}

void InProcessExchange::leave() { state_->cut(End::left); }

namespace {

std::optional<std::pair<int, std::string>> refusal(const HttpRequest& request,
                                                   const TransportLimits& limits) {
  if (request.path.size() + request.query.size() > limits.target_bytes) {
    return std::pair(414,
                     concat("the request's target is longer than ", limits.target_bytes, " bytes"));
  }
  std::size_t bytes = 0;
  for (const auto& [name, value] : request.headers) {
    bytes += name.size() + value.size();
  }
  if (bytes > limits.header_bytes) {
    return std::pair(
        431, concat("the request's headers take more than ", limits.header_bytes, " bytes"));
  }
  if (request.body.size() > limits.body_bytes) {
    return std::pair(413,
                     concat("the request's body is larger than ", limits.body_bytes, " bytes"));
  }
  return std::nullopt;
}

}  // namespace

InProcessTransport::InProcessTransport(Handler handler, TransportLimits limits)
    : handler_(std::move(handler)), limits_(limits) {}

InProcessTransport::~InProcessTransport() { InProcessTransport::stop(0); }

std::unique_ptr<InProcessExchange> InProcessTransport::send(HttpRequest request) {
  auto exchange = std::make_unique<InProcessExchange>(limits_.buffer_bytes);
  auto writer = std::make_shared<InProcessExchange::Writer>(exchange->state_);
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) {
      return exchange;
    }
    std::erase_if(running_, [](const auto& state) { return state.expired(); });
    running_.push_back(exchange->state_);
  }
  if (auto refused = refusal(request, limits_)) {
    request.refusal = refused->first;
    request.refusal_reason = std::move(refused->second);
    request.body.clear();
  }
  handler_(std::move(request), std::move(writer));
  return exchange;
}

void InProcessTransport::stop(double drain_seconds) {
  std::vector<std::weak_ptr<InProcessExchange::State>> running;
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
    running.swap(running_);
  }
  // Longer than any drain, and far from what the clock's own type can hold.
  constexpr double kLongestDrain = 1e9;
  const auto deadline =
      std::chrono::steady_clock::now() +
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(std::clamp(drain_seconds, 0.0, kLongestDrain)));
  for (const auto& weak : running) {
    const auto state = weak.lock();
    if (state == nullptr) {
      continue;
    }
    {
      std::unique_lock lock(state->mutex);
      state->changed.wait_until(lock, deadline,
                                [&] { return state->end != InProcessExchange::End::open; });
    }
    state->cut(InProcessExchange::End::reset);
  }
}

}  // namespace zllm::server::http
