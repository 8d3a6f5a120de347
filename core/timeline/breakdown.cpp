#include "core/timeline/breakdown.h"

#include <cmath>

namespace trainyard {

void part_slower(Breakdown& b, double times) {
  if (!(times > 1)) return;
  for (Duration Breakdown::* part :
       {&Breakdown::forward, &Breakdown::backward, &Breakdown::recompute, &Breakdown::optimizer}) {
    const Duration own{std::llround(static_cast<double>((b.*part).count()) / times)};
    b.slower += b.*part - own;
    b.*part = own;
  }
}

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
                                               {"input", &Breakdown::input},
                                               {"slower devices", &Breakdown::slower}};
  return parts;
}

}  // namespace trainyard
