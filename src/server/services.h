#pragma once

#include <atomic>
#include <chrono>
#include <memory>

#include <zllm/dialect/responses/response_store.h>
#include <zllm/server/background_answers.h>
#include <zllm/server/metrics.h>
#include <zllm/server/model_set.h>
#include <zllm/server/request_log.h>
#include <zllm/server/server_options.h>
#include <zllm/server/worker_pool.h>

namespace zllm::server {

// What routes work with. Outlives every call.
struct Services {
  Services(ServerOptions options_of, std::unique_ptr<ModelSet> models_of);

  ServerOptions options;
  std::unique_ptr<ModelSet> models;
  Metrics metrics;
  RequestLog log;
  BackgroundAnswers background;
  std::shared_ptr<dialect::responses::ResponseStore> store;
  std::atomic<bool> is_closing = false;  // nothing new begins
  // Last, so that their threads end before what they use.
  std::unique_ptr<WorkerPool> workers;
  // Bodies that take long to read wait for each other here, and not in the way of others.
  std::unique_ptr<WorkerPool> long_workers;
};

}  // namespace zllm::server
