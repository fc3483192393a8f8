// Region: attention/mla, must not compile
#include <zllm/backend/capability/mla.h>
