#include "app/workspace/plans/knob_strips.h"

namespace trainyard {

KnobsModel knobs_model(const Sensitivity& all) {
  KnobsModel model;
  model.title = all.scenario.model.name + " on " + all.scenario.cluster.name;
  model.step = all.now.step;
  model.reserved = all.now.reserved;
  model.capacity = all.now.capacity();
  for (const KnobStrip* strip : by_gain(all)) {
    KnobRow row{strip->key, strip->doc, strip->now, {}, {}};
    for (const KnobValue& v : strip->values) {
      if (!v.legal)
        row.refused.push_back(v.value + ": " + v.why_not);
      else if (!v.alternative)
        row.dots.push_back({v.value, v.partners, v.change, v.figures.step, v.figures.reserved,
                            v.figures.margin, v.figures.fits, v.maths});
    }
    model.rows.push_back(std::move(row));
  }
  return model;
}

}  // namespace trainyard
