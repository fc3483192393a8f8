// Region: attention/sparse, must not compile
#include <zllm/kv_cache/sequence_table.h>
