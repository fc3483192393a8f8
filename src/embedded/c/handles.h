#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include <zllm/dialect/responses/response_store.h>
#include <zllm/embedded/c/zllm.h>
#include <zllm/embedded/engine.h>
#include <zllm/embedded/json/json_answer.h>

// What the handles of the C interface stand for.
struct zllm_engine {
  std::shared_ptr<zllm::Engine> engine;
  std::shared_ptr<zllm::dialect::responses::ResponseStore> store =
      std::make_shared<zllm::dialect::responses::ResponseStore>(
          zllm::dialect::responses::StoreLimits());
};

struct zllm_answer {
  std::shared_ptr<zllm::Engine> engine;  // outlives the answer, whatever the caller frees first
  std::unique_ptr<zllm::JsonAnswer> answer;
  mutable std::mutex mutex = {};  // of reading
  std::optional<zllm::dialect::Item> item = {};
};
