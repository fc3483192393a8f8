#include <zllm/server/services.h>

#include <algorithm>
#include <cstddef>
#include <thread>
#include <utility>

namespace zllm::server {
namespace {

std::size_t worker_count(const ServerLimits& limits) {
  // Text work is a small share beside the model's; two keep one long prompt from holding up others.
  return limits.workers != 0 ? limits.workers
                             : std::max<std::size_t>(2, std::thread::hardware_concurrency() / 4);
}

}  // namespace

Services::Services(ServerOptions options_of, std::unique_ptr<ModelSet> models_of)
    : options(std::move(options_of)),
      models(std::move(models_of)),
      log(options.log, options.logs_requests),
      background(options.limits.background_responses),
      store(std::make_shared<dialect::responses::ResponseStore>(options.limits.store)),
      workers(std::make_unique<WorkerPool>(worker_count(options.limits))),
      long_workers(std::make_unique<WorkerPool>(
          std::max<std::size_t>(1, worker_count(options.limits) / 2))) {}

}  // namespace zllm::server
