// Region: attention/delta_rule, must not compile
#include <zllm/encoding/encoding.h>
