// Region: kv_cache, must not compile
#include <zllm/backend/capability/op_key.h>
