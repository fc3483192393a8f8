#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <utility>

#include <zllm/embedded/c/handles.h>
#include <zllm/embedded/c/struct_copy.h>
#include <zllm/embedded/c/zllm.h>

using zllm::c::give;
using zllm::c::taken;
using zllm::c::tell;

namespace {

// No exception leaves the library.
template <class Body>
zllm_status guarded(zllm_error *error, Body body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return tell(ZLLM_ERROR_OUT_OF_MEMORY, "there is no memory left", "", error);
  } catch (const std::exception& thrown) {
    return tell(ZLLM_ERROR_INTERNAL, thrown.what(), "", error);
  } catch (...) {
    return tell(ZLLM_ERROR_INTERNAL, "an unknown exception", "", error);
  }
}

zllm_status missing(const char *name, zllm_error *error) {
  return tell(ZLLM_ERROR_INVALID, "an argument that must be given is NULL", name, error);
}

std::string or_empty(const char *text) { return text == nullptr ? std::string() : text; }

template <class T, class U>
void set(T& option, const U& given) {
  if (given != U{}) {
    option = static_cast<T>(given);
  }
}

zllm::EngineOptions engine_options(const zllm_engine_options& given) {
  zllm::EngineOptions options;
  options.model = or_empty(given.model);
  if (given.backend != nullptr) {
    options.backend = given.backend;
  }
  options.kv_type = or_empty(given.kv_type);
  options.chat_template = or_empty(given.chat_template);
  options.family = or_empty(given.family);
  options.prefix_cache_folder = or_empty(given.prefix_cache_folder);
  set(options.context, given.context);
  set(options.cache_tokens, given.cache_tokens);
  set(options.prefill_budget, given.prefill_budget);
  set(options.prefix_cache_bytes, given.prefix_cache_bytes);
  set(options.prefix_cache_folder_bytes, given.prefix_cache_folder_bytes);
  set(options.swap_bytes, given.swap_bytes);
  set(options.queue_length, given.queue_length);
  set(options.threads, given.threads);
  set(options.max_concurrent, given.max_concurrent);
  options.prefix_cache = given.no_prefix_cache == 0;
  return options;
}

zllm::JsonRequest json_request(const zllm_engine& engine, const char *dialect, const char *body,
                               size_t body_size) {
  zllm::JsonRequest request{.dialect = dialect, .body = {body, body_size}};
  request.store = engine.store;
  return request;
}

// Copies all or nothing.
template <class T>
zllm_status fill(std::span<const T> from, T *to, size_t capacity, size_t *count,
                 zllm_error *error) {
  *count = from.size();
  if (from.size() > capacity || (to == nullptr && !from.empty())) {
    return tell(ZLLM_ERROR_BUFFER, "the buffer is too small", "capacity", error);
  }
  std::ranges::copy(from, to);
  return ZLLM_OK;
}

zllm_status give_item(zllm_answer& answer, zllm_item *item) {
  zllm_item told{};
  told.event = answer.item->event.c_str();
  told.event_size = answer.item->event.size();
  told.data = answer.item->data.c_str();
  told.data_size = answer.item->data.size();
  give(told, item);
  return ZLLM_OK;
}

}  // namespace

const char *zllm_version(void) { return ZLLM_VERSION; }

uint32_t zllm_abi_version(void) { return ZLLM_ABI_VERSION; }

zllm_status zllm_engine_load(const zllm_engine_options *options, zllm_engine **engine,
                             zllm_error *error) {
  return guarded(error, [&] {
    if (options == nullptr || engine == nullptr) {
      return missing(options == nullptr ? "options" : "engine", error);
    }
    const zllm_engine_options given = taken(options);
    if (given.model == nullptr) {
      return missing("model", error);
    }
    auto loaded = zllm::Engine::load(engine_options(given));
    if (!loaded.ok()) {
      return tell(zllm::Failure::from(loaded.error()), error);
    }
    auto made = std::make_unique<zllm_engine>();
    made->engine = *std::move(loaded);
    *engine = made.release();
    return zllm_status{ZLLM_OK};
  });
}

void zllm_engine_free(zllm_engine *engine) { const std::unique_ptr<zllm_engine> owned(engine); }

zllm_status zllm_engine_describe(const zllm_engine *engine, zllm_engine_info *info,
                                 zllm_error *error) {
  if (engine == nullptr || info == nullptr) {
    return missing(engine == nullptr ? "engine" : "info", error);
  }
  const zllm::EngineInfo& known = engine->engine->info();
  zllm_engine_info told{};
  told.architecture = known.architecture.c_str();
  told.backend = known.backend.c_str();
  told.family = known.family.c_str();
  told.parameters = known.parameters;
  told.weight_bytes = known.weight_bytes;
  told.context = known.context;
  told.vocabulary = known.vocabulary;
  told.has_chat_template = known.has_chat_template ? 1 : 0;
  told.template_takes_tools = known.template_takes_tools ? 1 : 0;
  give(told, info);
  return ZLLM_OK;
}

zllm_status zllm_submit(zllm_engine *engine, const char *dialect, const char *body,
                        size_t body_size, zllm_answer **answer, zllm_error *error) {
  return guarded(error, [&] {
    if (engine == nullptr || dialect == nullptr || body == nullptr || answer == nullptr) {
      return missing("engine, dialect, body, answer", error);
    }
    auto made = std::make_unique<zllm_answer>();
    made->engine = engine->engine;
    made->answer =
        zllm::submit_json(*engine->engine, json_request(*engine, dialect, body, body_size));
    *answer = made.release();
    return zllm_status{ZLLM_OK};
  });
}

zllm_status zllm_answer_next(zllm_answer *answer, int64_t milliseconds, zllm_item *item,
                             zllm_error *error) {
  return guarded(error, [&] {
    if (answer == nullptr || item == nullptr) {
      return missing(answer == nullptr ? "answer" : "item", error);
    }
    const std::scoped_lock lock(answer->mutex);
    zllm::JsonAnswer& running = *answer->answer;
    if (milliseconds == 0) {
      answer->item = running.try_next();
    } else if (milliseconds < 0) {
      answer->item = running.next(std::nullopt);
    } else {
      // A day at a time keeps the clock's arithmetic in range.
      constexpr int64_t kLongest = 86400000;
      answer->item = running.next(std::chrono::milliseconds(std::min(milliseconds, kLongest)));
    }
    if (answer->item) {
      return give_item(*answer, item);
    }
    return zllm_status{running.is_done() ? ZLLM_END : ZLLM_PENDING};
  });
}

int32_t zllm_answer_is_stream(const zllm_answer *answer) {
  return answer != nullptr && answer->answer->is_stream() ? 1 : 0;
}

int32_t zllm_answer_http_status(const zllm_answer *answer) {
  if (answer == nullptr) {
    return 0;
  }
  const std::scoped_lock lock(answer->mutex);
  return answer->answer->status();
}

void zllm_answer_cancel(zllm_answer *answer) {
  if (answer != nullptr) {
    answer->answer->cancel();
  }
}

void zllm_answer_free(zllm_answer *answer) { const std::unique_ptr<zllm_answer> owned(answer); }

zllm_status zllm_count_tokens(const zllm_engine *engine, const char *dialect, const char *body,
                              size_t body_size, uint64_t *count, zllm_error *error) {
  return guarded(error, [&] {
    if (engine == nullptr || dialect == nullptr || body == nullptr || count == nullptr) {
      return missing("engine, dialect, body, count", error);
    }
    auto counted =
        zllm::count_json_tokens(*engine->engine, json_request(*engine, dialect, body, body_size));
    if (!counted.ok()) {
      return tell(counted.error(), error);
    }
    *count = *counted;
    return zllm_status{ZLLM_OK};
  });
}

zllm_status zllm_tokenize(const zllm_engine *engine, const char *text, size_t text_size,
                          uint32_t flags, int32_t *tokens, size_t capacity, size_t *count,
                          zllm_error *error) {
  return guarded(error, [&] {
    if (engine == nullptr || text == nullptr || count == nullptr) {
      return missing("engine, text, count", error);
    }
    auto made = engine->engine->tokenize({text, text_size}, (flags & ZLLM_ADD_SPECIAL) != 0,
                                         (flags & ZLLM_PARSE_SPECIAL) != 0);
    if (!made.ok()) {
      return tell(made.error(), error);
    }
    return fill<int32_t>(*made, tokens, capacity, count, error);
  });
}

zllm_status zllm_detokenize(const zllm_engine *engine, const int32_t *tokens, size_t count,
                            char *text, size_t capacity, size_t *text_size, zllm_error *error) {
  return guarded(error, [&] {
    if (engine == nullptr || (tokens == nullptr && count > 0) || text_size == nullptr) {
      return missing("engine, tokens, text_size", error);
    }
    auto made = engine->engine->detokenize({tokens, tokens + count});
    if (!made.ok()) {
      return tell(made.error(), error);
    }
    return fill<char>(*made, text, capacity, text_size, error);
  });
}
