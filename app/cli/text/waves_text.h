// This file writes what the verb waves prints: waves that share a device, the peak at every offset
// between them, and whether they are worth it.
#pragma once

#include <string>

#include "core/io/json/fields.h"
#include "visualizers/waves/waves_model.h"

namespace trainyard {

/// The answer for the fullest device of a plan that states an offset, with its study.
struct WavesAnswer {
  const WavesModel& model;
  const DeviceWaves& waves = model.devices[model.worst.value];
  const WavesWorth& worth = model.worth.value();
  const Result& result() const { return model.experiment->result; }
};

std::string waves_text(const WavesAnswer&);
/// trainyard/waves@1.
std::string waves_document(const WavesAnswer&);
const Fields<WavesAnswer>& waves_fields();

}  // namespace trainyard
