#include <zllm/server/request_log.h>

#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <string>
#include <utility>

#include <zllm/base/text.h>
#include <zllm/dialect/json_writer.h>

namespace zllm::server {
namespace {

std::string timestamp() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string fraction = std::to_string(1000 + milliseconds % 1000).substr(1);
  return concat(std::string_view(text.data(), size), ".", fraction, "Z");
}

using dialect::JsonWriter;

void begin(JsonWriter& line, std::string_view level, std::string_view event) {
  line.begin_object().text("time", timestamp()).text("level", level).text("event", event);
}

void add_milliseconds(JsonWriter& line, std::string_view name, double seconds) {
  line.number(name, std::round(seconds * 1e6) / 1e3);
}

std::string lost_line(std::uint64_t lines) {
  JsonWriter line;
  begin(line, "warning", "log_lines_lost");
  line.integer("lines", lines);
  line.text("message", concat(lines, " lines of this log are lost: its reader was too far behind"));
  return std::move(line.end_object()).str() + '\n';
}

}  // namespace

RequestLog::RequestLog(LogSink sink, bool logs_requests, LogLimits limits)
    : queue_(sink ? std::make_unique<LogQueue>(std::move(sink), lost_line, limits) : nullptr),
      logs_requests_(logs_requests) {}

void RequestLog::write(std::string line) const {
  if (queue_ != nullptr) {
    line += '\n';
    queue_->push(std::move(line));
  }
}

void RequestLog::flush() const {
  if (queue_ != nullptr) {
    queue_->flush();
  }
}

std::uint64_t RequestLog::lost_lines() const { return queue_ == nullptr ? 0 : queue_->lost(); }

void RequestLog::request(const RequestRecord& record) const {
  if (!logs_requests_) {
    return;
  }
  JsonWriter line;
  begin(line, record.status >= 500 ? "error" : "info", "request");
  line.text("request_id", record.id).text("method", record.method).text("path", record.path);
  line.integer("status", record.status).text("caller", record.caller);
  add_milliseconds(line, "total_ms", record.seconds);
  if (!record.model.empty()) {
    line.text("model", record.model).boolean("stream", record.is_streaming);
  }
  if (record.first_token_seconds) {
    add_milliseconds(line, "first_token_ms", *record.first_token_seconds);
  }
  if (record.timings) {
    add_milliseconds(line, "queue_ms", record.timings->queue_seconds);
  }
  if (record.usage) {
    line.integer("prompt_tokens", record.usage->prompt_tokens);
    line.integer("cached_tokens", record.usage->cached_tokens);
    line.integer("completion_tokens", record.usage->completion_tokens);
  }
  if (!record.failure.empty()) {
    line.text("failure", record.failure);
  }
  write(std::move(line.end_object()).str());
}

void RequestLog::event(std::string_view level, std::string_view event,
                       std::string_view message) const {
  JsonWriter line;
  begin(line, level, event);
  write(std::move(line.text("message", message).end_object()).str());
}

}  // namespace zllm::server
