#include "app/cli/text/runs/sharpness_text.h"

#include "app/cli/text/lines.h"
#include "app/workspace/runs/sharpness/sharpness_chart.h"

namespace trainyard {

std::string sharpness_text(const SharpnessAnswer& a) {
  Out out;
  line(out, "{}, {} parameters, {}, loss over {} samples of {}", a.model, a.parameters,
       a.steps == 0 ? std::string("before training") : fmt::format("after {} updates", a.steps),
       a.batch, a.data);
  line(out, "loss {:.4g}, with a gradient of length {:.4g}", a.sharpness.loss,
       a.sharpness.gradient_norm);
  if (const std::vector<StableRate> rates = stable_rates(a); !rates.empty()) {
    line(out, "\n{:<26} {:>20} {:>20}", "updates", "gradients old", "largest stable rate");
    for (const StableRate& each : rates)
      line(out, "{:<26} {:>20.3g} {:>20.4g}", each.of, each.delay, each.rate);
  }
  line(out, "");
  for (const std::string& sentence : sharpness_sentences(a)) line(out, "{}", sentence);
  return out;
}

}  // namespace trainyard
