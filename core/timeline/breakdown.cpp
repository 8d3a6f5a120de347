#include "core/timeline/breakdown.h"

namespace trainyard {

const std::vector<NamedPart>& breakdown_parts() {
  static const std::vector<NamedPart> parts = {{"forward", &Breakdown::forward},
                                               {"backward", &Breakdown::backward},
                                               {"recompute", &Breakdown::recompute},
                                               {"optimizer", &Breakdown::optimizer},
                                               {"tensor parallel", &Breakdown::tensor_parallel},
                                               {"context parallel", &Breakdown::context_parallel},
                                               {"expert parallel", &Breakdown::expert_parallel},
                                               {"pipeline", &Breakdown::pipeline},
                                               {"data parallel", &Breakdown::data_parallel},
                                               {"bubble", &Breakdown::bubble},
                                               {"host", &Breakdown::host},
                                               {"allocator", &Breakdown::allocator},
                                               {"input", &Breakdown::input}};
  return parts;
}

}  // namespace trainyard
