/* Streams an answer: chat MODEL BODY, where BODY is what the service takes for
 * /v1/chat/completions. Every item is a line of JSON. */
#include <stdio.h>
#include <string.h>

#include <zllm.h>

static int fail(const zllm_error *error) {
  fprintf(stderr, "%s%s%s (code %d)\n", error->field, error->field[0] ? ": " : "", error->message,
          error->code);
  return 1;
}

int main(int argc, char **argv) {
  const char *body = argc > 2 ? argv[2]
                              : "{\"messages\":[{\"role\":\"user\",\"content\":\"Say hello.\"}],"
                                "\"max_tokens\":16,\"stream\":true}";
  zllm_error error = ZLLM_INIT(zllm_error);
  zllm_engine_options options = ZLLM_INIT(zllm_engine_options);
  options.model = argc > 1 ? argv[1] : NULL;
  zllm_engine *engine = NULL;
  if (zllm_engine_load(&options, &engine, &error) < 0) {
    return fail(&error);
  }
  zllm_answer *answer = NULL;
  zllm_status status = zllm_submit(engine, "chat", body, strlen(body), &answer, &error);
  zllm_item item = ZLLM_INIT(zllm_item);
  while (status >= 0 && status != ZLLM_END) {
    status = zllm_answer_next(answer, -1, &item, &error);
    if (status == ZLLM_OK) {
      puts(item.data);
    }
  }
  const int is_refused = answer != NULL && zllm_answer_http_status(answer) != 200;
  zllm_answer_free(answer);
  zllm_engine_free(engine);
  return status < 0 ? fail(&error) : is_refused;
}
