#include <zllm/server/metrics.h>

#include <array>
#include <functional>

#include <zllm/base/text.h>

namespace zllm::server {
namespace {

using engine::Statistics;

std::string label(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') {
      escaped += '\\';
      escaped += c;
    } else if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

void head(std::string& out, std::string_view name, std::string_view type, std::string_view help) {
  out += concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

struct EngineMetric {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  double (*value)(const Statistics&);
};

template <auto Member>
double value_of(const Statistics& statistics) {
  return static_cast<double>(statistics.*Member);
}

constexpr std::array kEngineMetrics = {
    EngineMetric{"zllm_rounds_total", "counter", "Rounds that the model has run.",
                 value_of<&Statistics::rounds>},
    EngineMetric{"zllm_prompt_tokens_computed_total", "counter", "Prompt tokens computed.",
                 value_of<&Statistics::prompt_tokens>},
    EngineMetric{"zllm_prefix_hit_tokens_total", "counter",
                 "Prompt tokens that were taken from the prefix cache.",
                 value_of<&Statistics::cached_tokens>},
    EngineMetric{"zllm_generated_tokens_total", "counter", "Tokens sampled or forced.",
                 value_of<&Statistics::generated_tokens>},
    EngineMetric{"zllm_forced_tokens_total", "counter", "Tokens that a fence left no choice of.",
                 value_of<&Statistics::forced_tokens>},
    EngineMetric{"zllm_preemptions_total", "counter", "Answers put aside for want of pages.",
                 value_of<&Statistics::preemptions>},
    EngineMetric{"zllm_cancelled_requests_total", "counter", "Requests that were cancelled.",
                 value_of<&Statistics::cancelled_requests>},
    EngineMetric{"zllm_failed_requests_total", "counter", "Requests that failed in the engine.",
                 value_of<&Statistics::failed_requests>},
    EngineMetric{"zllm_refused_requests_total", "counter", "Requests that found the queue full.",
                 value_of<&Statistics::refused_requests>},
    EngineMetric{"zllm_busy_seconds_total", "counter", "Time spent in rounds.",
                 value_of<&Statistics::busy_seconds>},
    EngineMetric{"zllm_queued_requests", "gauge", "Requests that wait for their first round.",
                 value_of<&Statistics::queued_requests>},
    EngineMetric{"zllm_running_requests", "gauge", "Requests that are computed.",
                 value_of<&Statistics::running_requests>},
    EngineMetric{"zllm_batch_size", "gauge", "Answers that share the rounds now.",
                 value_of<&Statistics::running_sequences>},
    EngineMetric{"zllm_paused_sequences", "gauge", "Answers whose reader is slow.",
                 value_of<&Statistics::paused_sequences>},
    EngineMetric{"zllm_cache_free_rows", "gauge", "Tokens that pages are free for.",
                 value_of<&Statistics::free_rows>},
    EngineMetric{"zllm_cache_used_rows", "gauge", "Tokens whose pages are in use.",
                 value_of<&Statistics::used_rows>},
    EngineMetric{"zllm_prefix_cache_bytes", "gauge", "Bytes that the prefix cache alone holds.",
                 value_of<&Statistics::cache_bytes>},
    EngineMetric{"zllm_prefix_cache_entries", "gauge", "Prefixes in the cache.",
                 value_of<&Statistics::cache_entries>},
    EngineMetric{"zllm_prefix_cache_evictions_total", "counter", "Prefixes evicted.",
                 value_of<&Statistics::cache_evictions>},
    EngineMetric{"zllm_prefix_cache_disk_bytes", "gauge", "Bytes of prefixes on disk.",
                 value_of<&Statistics::disk_bytes>},
};

}  // namespace

Metrics::Metrics()
    : first_token_(latency_bounds()),
      token_gap_(latency_bounds()),
      queue_(latency_bounds()),
      request_(latency_bounds()) {}

void Metrics::count(const RequestRecord& record) {
  request_.observe(record.seconds);
  if (record.first_token_seconds) {
    first_token_.observe(*record.first_token_seconds);
  }
  if (record.timings) {
    queue_.observe(record.timings->queue_seconds);
  }
  const std::lock_guard lock(mutex_);
  ++requests_[{record.route, record.status}];
  if (!record.failure.empty()) {
    ++failures_[record.failure];
  }
  if (record.usage) {
    prompt_tokens_ += record.usage->prompt_tokens;
    cached_tokens_ += record.usage->cached_tokens;
    completion_tokens_ += record.usage->completion_tokens;
  }
}

std::string Metrics::text(const std::vector<std::pair<std::string, engine::Statistics>>& engines,
                          std::uint64_t lost_log_lines) const {
  std::string out;
  {
    const std::lock_guard lock(mutex_);
    head(out, "zllm_requests_total", "counter", "Requests by route and HTTP status.");
    for (const auto& [key, count] : requests_) {
      out += concat("zllm_requests_total{route=\"", label(key.first), "\",status=\"", key.second,
                    "\"} ", count, "\n");
    }
    head(out, "zllm_request_failures_total", "counter", "Requests that failed, by kind.");
    for (const auto& [kind, count] : failures_) {
      out += concat("zllm_request_failures_total{kind=\"", label(kind), "\"} ", count, "\n");
    }
    head(out, "zllm_prompt_tokens_total", "counter", "Prompt tokens of finished requests.");
    out += concat("zllm_prompt_tokens_total ", prompt_tokens_, "\n");
    head(out, "zllm_cached_tokens_total", "counter", "Of them, those that were cached.");
    out += concat("zllm_cached_tokens_total ", cached_tokens_, "\n");
    head(out, "zllm_completion_tokens_total", "counter", "Tokens answered.");
    out += concat("zllm_completion_tokens_total ", completion_tokens_, "\n");
  }
  head(out, "zllm_log_lines_lost_total", "counter",
       "Lines that the log's reader was too slow for.");
  out += concat("zllm_log_lines_lost_total ", lost_log_lines, "\n");
  const auto histogram = [&](const Histogram& values, std::string_view name,
                             std::string_view help) {
    head(out, name, "histogram", help);
    values.append(out, name, "");
  };
  histogram(first_token_, "zllm_time_to_first_token_seconds",
            "From a request's arrival to its first piece of answer.");
  histogram(token_gap_, "zllm_inter_token_seconds", "Between two pieces of one answer.");
  histogram(queue_, "zllm_queue_seconds", "From a request's arrival to its first round.");
  histogram(request_, "zllm_request_seconds", "From a request's arrival to its end.");
  for (const EngineMetric& metric : kEngineMetrics) {
    head(out, metric.name, metric.type, metric.help);
    for (const auto& [model, statistics] : engines) {
      out += concat(metric.name, "{model=\"", label(model), "\"} ", metric.value(statistics), "\n");
    }
  }
  return out;
}

}  // namespace zllm::server
