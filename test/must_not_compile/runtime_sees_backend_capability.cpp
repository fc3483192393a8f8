// Region: runtime, compiles
#include <zllm/backend/capability/op_key.h>
