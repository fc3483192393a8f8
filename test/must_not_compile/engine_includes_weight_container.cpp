// Region: engine, must not compile
#include <zllm/weight/container/model_files.h>
