#include <zllm/server/answer_pump.h>

#include <utility>
#include <variant>

#include <zllm/server/http/sse.h>

namespace zllm::server {
namespace {

constexpr std::size_t kEventsOfAStep = 256;  // before others have their turn

bool is_piece(const Event& event) {
  return std::holds_alternative<ContentDelta>(event.what) ||
         std::holds_alternative<ReasoningDelta>(event.what) ||
         std::holds_alternative<CallStarted>(event.what) ||
         std::holds_alternative<CallDelta>(event.what);
}

}  // namespace

std::shared_ptr<AnswerPump> AnswerPump::start(Job job, WorkerPool& workers, Metrics& metrics) {
  auto pump = std::make_shared<AnswerPump>(std::move(job), workers, metrics);
  workers.schedule(pump);
  return pump;
}

AnswerPump::AnswerPump(Job job, WorkerPool& workers, Metrics& metrics)
    : job_(std::move(job)), workers_(workers), metrics_(metrics), running_(job_.answers.size()) {}

AnswerPump::~AnswerPump() = default;

// In a step, so that no other step reads an answer, or ends the pump, before all notifiers are set.
void AnswerPump::listen() {
  // Notifiers keep the pump alive until it is over and takes them back.
  const auto wake = [pump = shared_from_this()] { pump->workers_.schedule(pump); };
  for (const auto& answer : job_.answers) {
    answer->set_notifier(wake);
  }
  if (!job_.is_background) {
    job_.call->writer()->set_notifier(wake);
  }
}

void AnswerPump::cancel() {
  for (const auto& answer : job_.answers) {
    answer->cancel();
  }
}

// The writer tells of room only after it was over the limit, so exactly full is still room.
bool AnswerPump::has_room() const {
  return job_.is_background || !job_.is_streaming ||
         job_.call->writer()->pending() <= job_.buffer_bytes;
}

void AnswerPump::step() {
  if (is_over_) {
    return;
  }
  if (!is_listening_) {
    is_listening_ = true;
    listen();
  }
  if (!job_.is_background && job_.call->writer()->is_gone()) {
    if (!job_.outlives_client) {
      abandon();
      return;
    }
    job_.call->writer()->set_notifier(nullptr);
    job_.is_background = true;  // nobody reads along any more
  }
  std::size_t taken = 0;
  bool is_progress = true;
  while (is_progress && !is_over_) {
    is_progress = false;
    for (std::size_t i = 0; i < job_.answers.size() && !is_over_; ++i) {
      if (!has_room()) {
        return;
      }
      is_progress = take(i) || is_progress;
    }
    if (++taken >= kEventsOfAStep) {
      workers_.schedule(shared_from_this());
      return;
    }
  }
}

bool AnswerPump::take(std::size_t answer) {
  std::optional<Event> event = job_.answers[answer]->try_next();
  if (!event) {
    return false;
  }
  note(*event);
  tell(answer, *event);
  if (std::holds_alternative<Ended>(event->what)) {
    --running_;
    if (running_ == 0 || failure_) {
      finish();
    }
  }
  return true;
}

void AnswerPump::note(const Event& event) {
  RequestRecord& record = job_.call->record();
  if (is_piece(event)) {
    const auto now = Call::Clock::now();
    if (last_piece_) {
      metrics_.observe_token_gap(std::chrono::duration<double>(now - *last_piece_).count());
    } else {
      record.first_token_seconds = job_.call->seconds();
    }
    last_piece_ = now;
  } else if (const auto *ended = std::get_if<Ended>(&event.what)) {
    Usage usage = record.usage.value_or(Usage{});
    usage.prompt_tokens += ended->usage.prompt_tokens;
    usage.cached_tokens += ended->usage.cached_tokens;
    usage.completion_tokens += ended->usage.completion_tokens;
    usage.reasoning_tokens += ended->usage.reasoning_tokens;
    record.usage = usage;
    record.timings = ended->timings;
    if (ended->failure) {
      failure_ = ended->failure;
      record.failure = name(ended->failure->kind);
    }
  }
}

void AnswerPump::tell(std::size_t answer, const Event& event) {
  if (job_.is_background || !job_.is_streaming) {
    job_.encoder->collect(answer, event);
    return;
  }
  // What fails before anything was told can still have its own status.
  if (!is_started_ && failure_) {
    if (job_.outlives_client) {
      job_.encoder->collect(answer, event);  // who asks for it later has to see it
    }
    return;
  }
  if (!is_started_) {
    is_started_ = true;
    job_.call->start_events();
  }
  send(answer, event);
}

void AnswerPump::send(std::size_t answer, const Event& event) {
  items_.clear();
  job_.encoder->stream(answer, event, items_);
  if (items_.empty()) {
    return;
  }
  std::string text;
  for (const dialect::Item& item : items_) {
    text += http::frame_event(item.event, item.data);
  }
  job_.call->writer()->write(std::move(text));
}

void AnswerPump::finish() {
  is_over_ = true;
  Call& call = *job_.call;
  for (const auto& answer : job_.answers) {
    answer->set_notifier(nullptr);
  }
  if (job_.at_end) {
    job_.at_end();
  }
  if (job_.is_background) {
    call.report();
    return;
  }
  call.writer()->set_notifier(nullptr);
  if (is_started_) {
    call.report();
    call.writer()->finish();
  } else if (failure_) {
    call.fail(*failure_);
  } else {
    call.reply(200, job_.encoder->body());
  }
}

void AnswerPump::abandon() {
  is_over_ = true;
  for (const auto& answer : job_.answers) {
    answer->set_notifier(nullptr);
  }
  job_.call->writer()->set_notifier(nullptr);
  job_.encoder->abandon();
  // Destroying an answer cancels it.
  job_.answers.clear();
  if (job_.at_end) {
    job_.at_end();
  }
  job_.call->record().failure = "client_gone";
  job_.call->report();
}

}  // namespace zllm::server
