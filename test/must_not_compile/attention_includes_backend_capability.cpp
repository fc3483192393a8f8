// Region: attention/gqa, must not compile
#include <zllm/backend/capability/op_key.h>
