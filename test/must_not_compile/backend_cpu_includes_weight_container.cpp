// Region: backend/cpu, must not compile
#include <zllm/weight/container/tensor_table.h>
