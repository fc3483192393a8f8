#include <zllm/server/request_log.h>

#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <string>

#include <zllm/base/json.h>
#include <zllm/base/text.h>

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

Json milliseconds(double seconds) { return Json(std::round(seconds * 1e6) / 1e3); }

}  // namespace

void RequestLog::write(const Json::Object& fields) const {
  if (sink_) {
    sink_(Json(fields).dump() + "\n");
  }
}

void RequestLog::request(const RequestRecord& record) const {
  if (!logs_requests_) {
    return;
  }
  Json::Object fields = {{"time", Json(timestamp())},
                         {"level", Json(std::string(record.status >= 500 ? "error" : "info"))},
                         {"event", Json(std::string("request"))},
                         {"request_id", Json(record.id)},
                         {"method", Json(record.method)},
                         {"path", Json(record.path)},
                         {"status", Json(std::int64_t{record.status})},
                         {"caller", Json(record.caller)},
                         {"total_ms", milliseconds(record.seconds)}};
  if (!record.model.empty()) {
    fields.emplace_back("model", Json(record.model));
    fields.emplace_back("stream", Json(record.is_streaming));
  }
  if (record.first_token_seconds) {
    fields.emplace_back("first_token_ms", milliseconds(*record.first_token_seconds));
  }
  if (record.timings) {
    fields.emplace_back("queue_ms", milliseconds(record.timings->queue_seconds));
  }
  if (record.usage) {
    fields.emplace_back("prompt_tokens", Json(record.usage->prompt_tokens));
    fields.emplace_back("cached_tokens", Json(record.usage->cached_tokens));
    fields.emplace_back("completion_tokens", Json(record.usage->completion_tokens));
  }
  if (!record.failure.empty()) {
    fields.emplace_back("failure", Json(record.failure));
  }
  write(fields);
}

void RequestLog::event(std::string_view level, std::string_view event,
                       std::string_view message) const {
  write({{"time", Json(timestamp())},
         {"level", Json(std::string(level))},
         {"event", Json(std::string(event))},
         {"message", Json(std::string(message))}});
}

}  // namespace zllm::server
