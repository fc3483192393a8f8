// Region: residual, must not compile
#include <zllm/norm/spec.h>
