// Region: engine, must not compile
#include <zllm/runtime/dense/dense_model.h>
