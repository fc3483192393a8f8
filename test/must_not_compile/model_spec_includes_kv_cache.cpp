// Region: model_spec, must not compile
#include <zllm/kv_cache/slot_table.h>
