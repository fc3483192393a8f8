// Region: model_spec, must not compile
#include <zllm/weight/container/tensor_table.h>
