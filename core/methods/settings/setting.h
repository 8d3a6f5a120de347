// A Setting is one key of --set: a field of a plan, how it is read and how it is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace trainyard {

struct Setting {
  std::string_view key;                   // "micro-batch"
  std::vector<std::string_view> aliases;  // "micro-batch-size", "train_micro_batch_size_per_gpu"
  std::string_view doc;                   // one line
  std::vector<std::string_view> values = {};  // legal words where the value is one of a list
  void (*apply)(Plan&, std::string_view value, const Place&) = nullptr;
  std::string (*read)(const Plan&) = nullptr;  // the value as text; "" where the plan does not
                                               // state it
};

}  // namespace trainyard
