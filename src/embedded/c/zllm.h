/* zllm in process: a stable C interface.
 *
 * Structs begin with their size, which the caller sets (ZLLM_INIT does) and the library trusts, so
 * that both may grow. Strings are UTF-8; those with a size need no zero at their end. Every
 * function may be called by any thread at any time, but frees what it frees once; an answer has one
 * reader at a time. A NULL for an error is fine. Nothing here throws, prints or ends the process.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ZLLM_API __attribute__((visibility("default")))
#else
#define ZLLM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Grows with what is added; what is there stays as it is until the library's name changes. */
#define ZLLM_ABI_VERSION 1

/* C knows no using. NOLINTBEGIN(modernize-use-using) */
typedef struct zllm_engine zllm_engine; /* a loaded model that answers many requests at once */
typedef struct zllm_answer zllm_answer; /* a request that runs */

/* What functions return: 0 and above is no error. */
typedef int32_t zllm_status;
enum {
  ZLLM_OK = 0,
  ZLLM_PENDING = 1, /* nothing yet within the time */
  ZLLM_END = 2,     /* nothing comes any more */
  ZLLM_ERROR_INVALID = -1,
  ZLLM_ERROR_TOO_LONG = -2, /* the prompt does not fit the context */
  ZLLM_ERROR_UNSUPPORTED = -3,
  ZLLM_ERROR_NOT_FOUND = -4,
  ZLLM_ERROR_BUSY = -5, /* the queue is full: later */
  ZLLM_ERROR_LOADING = -6,
  ZLLM_ERROR_DEADLINE = -7,
  ZLLM_ERROR_SHUT_DOWN = -8,
  ZLLM_ERROR_OUT_OF_MEMORY = -9,
  ZLLM_ERROR_INTERNAL = -10,
  ZLLM_ERROR_BUFFER = -11 /* too small; the size that is needed was told */
};

typedef struct zllm_error {
  size_t size;
  int32_t code; /* as returned */
  int32_t http_status;
  char field[256];    /* of the request or options that is to blame, or empty */
  char message[2048]; /* one sentence, cut at a whole character where it is longer */
} zllm_error;

/* Zero and NULL mean the default. */
typedef struct zllm_engine_options {
  size_t size;
  const char *model;               /* Hub-layout folder or GGUF file */
  const char *backend;             /* "cpu" */
  const char *kv_type;             /* "f16" or "f32" */
  const char *chat_template;       /* source, in place of the model's own */
  const char *family;              /* of output, in place of the template's */
  const char *prefix_cache_folder; /* evicted prefixes go there */
  uint64_t context;                /* tokens of one answer with its prompt */
  uint64_t cache_tokens;           /* that all answers and cached prefixes hold together */
  uint64_t prefill_budget;         /* prompt tokens of a round beside running answers */
  uint64_t prefix_cache_bytes;
  uint64_t prefix_cache_folder_bytes;
  uint64_t swap_bytes; /* host memory for preempted answers */
  uint64_t queue_length;
  uint32_t threads;
  uint32_t max_concurrent;  /* answers computed at once */
  uint32_t no_prefix_cache; /* 1: nothing is kept */
  uint32_t reserved;
} zllm_engine_options;

typedef struct zllm_engine_info {
  size_t size;
  const char *architecture; /* these live as long as the engine */
  const char *backend;
  const char *family;
  uint64_t parameters;
  uint64_t weight_bytes;
  uint64_t context;
  uint64_t vocabulary;
  uint32_t has_chat_template;
  uint32_t template_takes_tools;
} zllm_engine_info;

/* One message of an answer, valid until the next call with the answer. Zero-terminated too. */
typedef struct zllm_item {
  size_t size;
  const char *event; /* its type where the dialect names it, else empty */
  size_t event_size;
  const char *data; /* JSON text, or the dialect's end mark */
  size_t data_size;
} zllm_item;
/* NOLINTEND(modernize-use-using) */

/* zllm_item item = ZLLM_INIT(zllm_item); */
#ifdef __cplusplus
extern "C++" {
template <class T>
inline T zllm_sized() {
  T made{};
  made.size = sizeof(T);
  return made;
}
}
#define ZLLM_INIT(type) zllm_sized<type>()
#else
#define ZLLM_INIT(type) {.size = sizeof(type)}
#endif

enum {
  ZLLM_ADD_SPECIAL = 1,  /* the model's begin tokens come first */
  ZLLM_PARSE_SPECIAL = 2 /* control tokens spelled out in the text become these tokens */
};

ZLLM_API const char *zllm_version(void);
ZLLM_API uint32_t zllm_abi_version(void);

ZLLM_API zllm_status zllm_engine_load(const zllm_engine_options *options, zllm_engine **engine,
                                      zllm_error *error);
/* Answers that run go on until they are freed. NULL is fine. */
ZLLM_API void zllm_engine_free(zllm_engine *engine);
ZLLM_API zllm_status zllm_engine_describe(const zllm_engine *engine, zllm_engine_info *info,
                                          zllm_error *error);

/* Answers a body of the service: dialect is "chat", "completions", "responses" or "messages". A
 * request that is refused has an answer too: one item with the dialect's error. */
ZLLM_API zllm_status zllm_submit(zllm_engine *engine, const char *dialect, const char *body,
                                 size_t body_size, zllm_answer **answer, zllm_error *error);
/* ZLLM_OK with an item, ZLLM_PENDING or ZLLM_END. Milliseconds: 0 never waits, below 0 waits
 * without limit. */
ZLLM_API zllm_status zllm_answer_next(zllm_answer *answer, int64_t milliseconds, zllm_item *item,
                                      zllm_error *error);
/* 1 where the items are those of a stream, 0 where one item is the whole body. */
ZLLM_API int32_t zllm_answer_is_stream(const zllm_answer *answer);
/* What the service would answer with; of a body it is known once that was given. */
ZLLM_API int32_t zllm_answer_http_status(const zllm_answer *answer);
/* Ends it within a round; its items still end as the dialect ends them. */
ZLLM_API void zllm_answer_cancel(zllm_answer *answer);
/* Cancels as well. NULL is fine. */
ZLLM_API void zllm_answer_free(zllm_answer *answer);

/* Tokens of the prompt that the body asks to be answered. */
ZLLM_API zllm_status zllm_count_tokens(const zllm_engine *engine, const char *dialect,
                                       const char *body, size_t body_size, uint64_t *count,
                                       zllm_error *error);
/* Writes at most `capacity` and always tells the whole count; ZLLM_ERROR_BUFFER where that is more,
 * and then nothing is written. */
ZLLM_API zllm_status zllm_tokenize(const zllm_engine *engine, const char *text, size_t text_size,
                                   uint32_t flags, int32_t *tokens, size_t capacity, size_t *count,
                                   zllm_error *error);
ZLLM_API zllm_status zllm_detokenize(const zllm_engine *engine, const int32_t *tokens, size_t count,
                                     char *text, size_t capacity, size_t *text_size,
                                     zllm_error *error);

#ifdef __cplusplus
}
#endif
